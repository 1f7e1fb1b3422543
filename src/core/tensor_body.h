#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include "bough/autograd/autograd.h"
#include "bough/core/tensor.h"
#include "src/core/allocator.h"

namespace bough {

/// A block of memory and the count of in-place writes to it.
class Storage {
 public:
  Storage(std::size_t bytes, Device device)
      : allocator_(allocator_of(device)), block_(allocator_.allocate(bytes)), device_(device) {}
  ~Storage() { allocator_.free(block_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* bytes() const { return static_cast<std::byte*>(block_.address); }
  Device device() const { return device_; }
  std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void count_write() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  PooledAllocator& allocator_;
  PooledAllocator::Block block_;
  Device device_;
  std::atomic<std::uint64_t> version_{0};
};

struct ValueRecipe;

/// What the handles of one tensor share.
struct TensorBody {
  std::shared_ptr<Storage> storage;
  std::int64_t offset = 0;  ///< in elements
  Shape shape;
  DType dtype = DType::float32;

  bool requires_grad = false;
  std::shared_ptr<GradientNode> node;   ///< the operation that made it; null for leaves
  std::size_t output = 0;               ///< which of the node's outputs it is
  Gradient gradient;                    ///< of leaves
  std::shared_ptr<ValueRecipe> recipe;  ///< what operations keep for backward instead of the value, if set

  std::byte* bytes() const { return storage->bytes() + offset * static_cast<std::int64_t>(size_of(dtype)); }
  std::size_t num_bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
};

/// A tensor over an existing storage, without history.
Tensor make_view(const std::shared_ptr<Storage>& storage, std::int64_t offset, const Shape& shape, DType dtype);

/// An undefined tensor that stands for one that was asked for by name and is not there: whatever needs its value throws
/// `error`, which says so. Copies do too; assignment replaces it.
Tensor missing_tensor(std::exception_ptr error);
/// Throws that error if the tensor is a missing one. For operations that take an undefined tensor to be one that was
/// not given, or have an error of their own for it.
void throw_if_missing(const Tensor& tensor);

/// Copies all elements between tensors of equal shape and type, across devices if need be.
void copy_elements(const TensorBody& source, TensorBody& target);

}  // namespace bough
