#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bough/core/device.h"
#include "bough/core/dtype.h"
#include "bough/core/shape.h"

namespace bough {

class Storage;
class GradientNode;
class RandomGenerator;
struct TensorBody;
struct RowGradient;
struct BackwardOptions;

/// A handle to an n-dimensional array: shape, element type and a contiguous range of a reference-counted storage.
///
/// Copies of a Tensor share everything. reshape and rows share the storage without copying; all other operations give
/// new tensors. A default-constructed Tensor is undefined: only defined() and assignment are allowed on it.
/// Elements are float, double, std::int32_t, std::int64_t, bool or bfloat16; from_vector with others does not compile.
/// Reading one tensor from several threads is safe; writing needs the caller's care.
class Tensor {
 public:
  Tensor() = default;

  /// Uninitialised elements.
  static Tensor empty(const Shape& shape, DType dtype = DType::float32, Device device = Device::cpu());
  /// ShapeError unless the number of values is that of the shape.
  template <TensorElement T>
  static Tensor from_vector(const std::vector<T>& values, const Shape& shape, Device device = Device::cpu());
  template <TensorElement T>
  static Tensor from_span(std::span<const T> values, const Shape& shape, Device device = Device::cpu());

  bool defined() const { return body_ != nullptr; }  ///< false for a tensor made without arguments
  /// Extents of the axes.
  const Shape& shape() const;
  /// Extent of an axis; negative axes count from the end.
  std::int64_t size(int axis) const { return shape()[axis]; }
  int rank() const { return shape().rank(); }
  std::int64_t elements() const { return shape().elements(); }
  DType dtype() const;
  Device device() const;

  /// The first element, on the CPU. TypeError if T is not the element type, DeviceError if the tensor is elsewhere.
  /// Autograd does not see what is written through the pointer.
  template <TensorElement T>
  T* data();
  template <TensorElement T>
  const T* data() const;
  template <TensorElement T>
  std::span<T> span();
  template <TensorElement T>
  std::span<const T> span() const;

  /// The only element, converted to T. ShapeError unless there is exactly one, TypeError for a NaN, an infinity or a
  /// number that an integer T cannot hold.
  template <TensorElement T>
  T item() const;
  /// All elements in row-major order, converted to T; TypeError as for item.
  template <TensorElement T>
  std::vector<T> to_vector() const;

  /// The same elements under another shape, without copying; one extent may be -1. Gradient: reshaped back.
  Tensor reshape(std::initializer_list<std::int64_t> extents) const;
  Tensor reshape(const Shape& shape) const;
  /// Rows begin..end-1 of the first axis, without copying. Gradient: zeros elsewhere.
  Tensor rows(std::int64_t begin, std::int64_t end) const;
  /// A copy with its own storage. Gradient: passed on.
  Tensor clone() const;
  /// The same tensor where it already is, a copy otherwise. Gradient: copied back.
  Tensor to(Device device) const;
  /// Shares the storage, takes no part in autograd.
  Tensor detach() const;

  /// Writes in place; they return the tensor itself and are not recorded. AutogradError for a tensor that autograd has
  /// recorded, or for a leaf that requires a gradient outside NoGrad: an overwritten value would make gradients wrong.
  Tensor& fill(double value);
  Tensor& zero() { return fill(0); }
  Tensor& assign(const Tensor& source);
  /// this += scale * source; same shape and floating type.
  Tensor& accumulate(const Tensor& source, double scale = 1);

  /// Whether backward leaves a gradient here, or goes through.
  bool requires_grad() const;
  /// Works only for leaves (tensors no operation made) of floating type; AutogradError otherwise.
  Tensor& set_requires_grad(bool value);
  bool is_leaf() const;
  /// The accumulated gradient; undefined before the first backward, and using it then is an AutogradError that says so.
  /// A row-sparse gradient is made dense on first call.
  Tensor grad() const;
  /// The gradient as rows, if every contribution so far came from embedding look-ups with sparse gradients.
  std::optional<RowGradient> row_grad() const;
  void set_grad(const Tensor& gradient);
  void clear_grad();
  /// Accumulates gradients into the leaves this tensor was computed from. See BackwardOptions for seed and retention.
  void backward() const;
  void backward(const BackwardOptions& options) const;

  /// Counts in-place writes to the storage.
  std::uint64_t version() const;
  /// Counts one: for code that writes through data() to a tensor that autograd may have saved.
  void mark_written();
  /// True if both handles mean the very same tensor.
  bool same_as(const Tensor& other) const { return body_ == other.body_; }
  const std::shared_ptr<TensorBody>& body() const { return body_; }
  explicit Tensor(std::shared_ptr<TensorBody> body) : body_(std::move(body)) {}

 private:
  std::shared_ptr<TensorBody> body_;
};

/// Where the elements of a tensor are in the memory of its device, row-major: for kernels of the user's own. On a GPU
/// the host cannot read there. Valid as long as the tensor lives; a kernel that writes there is followed by
/// mark_written(). ShapeError for an undefined tensor.
void* device_address(const Tensor& tensor);

/// How a tensor is made that has no tensor to take its type and device from.
struct TensorOptions {
  std::optional<DType> dtype = {};       ///< default: float32; for arange int64
  Device device = Device::cpu();         ///< where it lives
  RandomGenerator* generator = nullptr;  ///< of random numbers; default: default_generator()
};

/// Tensors made from nothing: zeros({3, 4}), zeros({3, 4}, {.device = Device::cuda()}), zeros({3, 4}, DType::int64).
Tensor zeros(const Shape& shape, const TensorOptions& options = {});
Tensor zeros(const Shape& shape, DType dtype, Device device = Device::cpu());
Tensor ones(const Shape& shape, const TensorOptions& options = {});
Tensor ones(const Shape& shape, DType dtype, Device device = Device::cpu());
Tensor full(const Shape& shape, double value, const TensorOptions& options = {});
Tensor full(const Shape& shape, double value, DType dtype, Device device = Device::cpu());
/// 0, 1, ..., count-1; int64 unless a type is given.
Tensor arange(std::int64_t count, const TensorOptions& options = {});
Tensor arange(std::int64_t count, DType dtype, Device device = Device::cpu());
/// A tensor with the shape, type and device of another.
Tensor empty_like(const Tensor& like);
Tensor zeros_like(const Tensor& like);

/// Random numbers of float32 or float64, TypeError otherwise: standard normal (Box-Muller on Philox), uniform in [0, 1)
/// and uniform in [low, high). Each call takes the next stream of the generator. They are drawn on the CPU: the same
/// numbers for any number of threads and on every device.
Tensor randn(const Shape& shape, const TensorOptions& options = {});
Tensor randn(const Shape& shape, DType dtype);
Tensor rand(const Shape& shape, const TensorOptions& options = {});
Tensor rand_uniform(const Shape& shape, double low = 0, double high = 1, const TensorOptions& options = {});
Tensor rand_uniform(const Shape& shape, double low, double high, DType dtype);

/// The tensor as text, much as NumPy writes it:
///
///     tensor([[ 0.5,   1, -2.25],
///             [   3, nan,   inf]], shape=[2, 3], dtype=float32)
///
/// Numbers have at most 4 digits behind the point. Of more than 1000 elements, the first and last three along each axis
/// are written, with "..." between them. No elements: []. A tensor of a GPU is copied to the host, and its device
/// stands behind its type. "tensor(undefined)" for an undefined one.
std::string to_string(const Tensor& tensor);
/// Writes to_string(tensor).
std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);

}  // namespace bough
