#include "bough/core/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bough/core/parallel.h"
#include "src/core/accumulate.h"
#include "src/core/captured_graph.h"
#include "src/core/cuda_device.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

/// The deleter of a null pointer to a body: what such a pointer can carry, so that handles do not grow.
struct WhatIsMissing {
  std::exception_ptr error;
  void operator()(TensorBody*) const {}
};

const TensorBody& body_of(const char* where, const Tensor& tensor) {
  throw_if_missing(tensor);
  if (!tensor.defined()) throw Error(where, "the tensor is undefined; it was never given a value");
  return *tensor.body();
}

template <typename T>
std::byte* typed_bytes(const char* where, const Tensor& tensor) {
  const TensorBody& body = body_of(where, tensor);
  if (body.dtype != dtype_of<T>()) {
    throw TypeError(where, fmt::format("the tensor holds {}, not {}; cast() converts", name_of(body.dtype),
                                       name_of(dtype_of<T>())));
  }
  if (body.storage->device().kind != Device::Kind::cpu) {
    throw DeviceError(
        where, fmt::format("the tensor is on {}; to(Device::cpu()) brings it here", to_string(body.storage->device())));
  }
  return body.bytes();
}

/// The value as T. A conversion of floating numbers to integers that C++ leaves undefined is a TypeError.
template <typename T, typename From>
T converted(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr From beyond = static_cast<From>(std::uint64_t{1} << (8 * sizeof(T) - 1));  // the first that is too large
    if (!(value >= -beyond && value < beyond)) {
      throw TypeError("to_vector",
                      fmt::format("{} cannot become {}; read it as float or double", value, name_of(dtype_of<T>())));
    }
  }
  return static_cast<T>(value);
}

TensorBody& writable_body(const char* where, Tensor& tensor) {
  body_of(where, tensor);
  TensorBody& body = *tensor.body();
  if (body.node != nullptr) {
    throw AutogradError(where,
                        "cannot write in place to a tensor that an operation has made and autograd has "
                        "recorded; write to detach() if that is meant");
  }
  if (body.requires_grad && grad_enabled()) {
    throw AutogradError(where, "cannot write in place to a leaf that requires a gradient; wrap the update in NoGrad");
  }
  return body;
}

void require_same(const char* where, const TensorBody& target, const TensorBody& source) {
  if (!(target.shape == source.shape)) {
    throw ShapeError(where, fmt::format("the target is {}, the source {}; they must be equal", to_string(target.shape),
                                        to_string(source.shape)));
  }
  if (target.dtype != source.dtype) {
    throw TypeError(where, fmt::format("the target holds {}, the source {}; cast() converts", name_of(target.dtype),
                                       name_of(source.dtype)));
  }
}

}  // namespace

Tensor missing_tensor(std::exception_ptr error) {
  return Tensor(std::shared_ptr<TensorBody>(nullptr, WhatIsMissing{std::move(error)}));
}

void throw_if_missing(const Tensor& tensor) {
  if (tensor.defined()) return;
  if (const auto* missing = std::get_deleter<WhatIsMissing>(tensor.body())) std::rethrow_exception(missing->error);
}

Tensor make_view(const std::shared_ptr<Storage>& storage, std::int64_t offset, const Shape& shape, DType dtype) {
  auto body = std::make_shared<TensorBody>();
  body->storage = storage;
  body->offset = offset;
  body->shape = shape;
  body->dtype = dtype;
  return Tensor(std::move(body));
}

void copy_elements(const TensorBody& source, TensorBody& target) {
  const Device from = source.storage->device(), to = target.storage->device();
  if (from.kind == Device::Kind::cpu && to.kind == Device::Kind::cpu) {
    const std::byte* in = source.bytes();
    std::byte* out = target.bytes();
    parallel_chunks(static_cast<std::int64_t>(source.num_bytes()), 1 << 20,
                    [&](std::int64_t begin, std::int64_t end) { std::memmove(out + begin, in + begin, end - begin); });
    return;
  }
  if (to.kind == Device::Kind::cpu) CapturedGraph::refuse(from, "a copy to the host");
  if (from.kind == Device::Kind::cpu) {
    return copy_from_host(to.index, target.bytes(), source.bytes(), source.num_bytes());
  }
  if (from.kind == to.kind && from.index != to.index) {
    CapturedGraph::refuse(from, "a copy to another device");
    CapturedGraph::refuse(to, "a copy from another device");
    return cuda_copy_between(to.index, target.bytes(), from.index, source.bytes(), source.num_bytes());
  }
  cuda_copy(from.index, target.bytes(), source.bytes(), source.num_bytes(),
            to.kind == Device::Kind::cpu ? CopyDirection::device_to_host : CopyDirection::device_to_device);
}

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(shape.elements()), size_of(dtype), &bytes)) {
    throw ShapeError("empty", fmt::format("the size in bytes of {} does not fit in 64 bits", to_string(shape)));
  }
  return make_view(std::make_shared<Storage>(bytes, device), 0, shape, dtype);
}

template <TensorElement T>
Tensor Tensor::from_span(std::span<const T> values, const Shape& shape, Device device) {
  if (static_cast<std::int64_t>(values.size()) != shape.elements()) {
    throw ShapeError("from_vector", fmt::format("shape {} has {} elements, {} values were given", to_string(shape),
                                                shape.elements(), values.size()));
  }
  Tensor result = empty(shape, dtype_of<T>());
  std::ranges::copy(values, result.data<T>());
  return result.to(device);
}

template <TensorElement T>
Tensor Tensor::from_vector(const std::vector<T>& values, const Shape& shape, Device device) {
  if constexpr (std::is_same_v<T, bool>) {
    if (static_cast<std::int64_t>(values.size()) != shape.elements()) return from_span<bool>({}, shape, device);
    Tensor result = empty(shape, DType::boolean);
    std::copy(values.begin(), values.end(), result.data<bool>());
    return result.to(device);
  } else {
    return from_span(std::span<const T>(values), shape, device);
  }
}

const Shape& Tensor::shape() const { return body_of("shape", *this).shape; }
DType Tensor::dtype() const { return body_of("dtype", *this).dtype; }
Device Tensor::device() const { return body_of("device", *this).storage->device(); }
std::uint64_t Tensor::version() const { return body_of("version", *this).storage->version(); }
void Tensor::mark_written() { body_of("mark_written", *this).storage->count_write(); }

template <TensorElement T>
T* Tensor::data() {
  return reinterpret_cast<T*>(typed_bytes<T>("data", *this));
}
template <TensorElement T>
const T* Tensor::data() const {
  return reinterpret_cast<const T*>(typed_bytes<T>("data", *this));
}
template <TensorElement T>
std::span<T> Tensor::span() {
  return {data<T>(), static_cast<std::size_t>(elements())};
}
template <TensorElement T>
std::span<const T> Tensor::span() const {
  return {data<T>(), static_cast<std::size_t>(elements())};
}

template <TensorElement T>
std::vector<T> Tensor::to_vector() const {
  const Tensor here = detach().to(Device::cpu());
  return visit_dtype(dtype(), [&]<typename From>(TypeTag<From>) {
    const std::span<const From> values = here.span<From>();
    std::vector<T> result;
    result.reserve(values.size());
    // A bfloat16 becomes another type by way of float.
    for (const From value : values) result.push_back(converted<T>(static_cast<AccumType<From>>(value)));
    return result;
  });
}

template <TensorElement T>
T Tensor::item() const {
  if (elements() != 1) {
    throw ShapeError("item", fmt::format("a tensor with one element is needed, this one is {}", to_string(shape())));
  }
  return to_vector<T>()[0];
}

Tensor Tensor::reshape(std::initializer_list<std::int64_t> extents) const {
  std::vector<std::int64_t> resolved(extents);
  if (std::ranges::count(resolved, -1) > 1) {
    throw ShapeError("reshape", fmt::format("only one extent may be -1, [{}] has several", fmt::join(extents, ", ")));
  }
  const auto unknown = std::ranges::find(resolved, -1);
  if (unknown == resolved.end()) return reshape(Shape(resolved));
  *unknown = 1;
  const std::int64_t known = Shape(resolved).elements();
  if (known == 0 || elements() % known != 0) {
    throw ShapeError("reshape", fmt::format("{} elements of {} cannot be shared out over [{}] with one extent open",
                                            elements(), to_string(shape()), fmt::join(extents, ", ")));
  }
  *unknown = elements() / known;
  return reshape(Shape(resolved));
}

Tensor Tensor::reshape(const Shape& shape) const {
  const TensorBody& body = body_of("reshape", *this);
  if (shape.elements() != body.shape.elements()) {
    throw ShapeError("reshape", fmt::format("{} with {} elements cannot become {} with {}", to_string(body.shape),
                                            body.shape.elements(), to_string(shape), shape.elements()));
  }
  return autograd::record({.name = "reshape",
                           .inputs = {*this},
                           .backward = [from = body.shape](const BackwardCall& call) -> Gradients {
                             return {call.gradient().reshape(from)};
                           }},
                          make_view(body.storage, body.offset, shape, body.dtype));
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  const TensorBody& body = body_of("rows", *this);
  if (body.shape.rank() == 0 || begin < 0 || end < begin || end > body.shape[0]) {
    throw ShapeError("rows",
                     fmt::format("rows {} to {} are not in a tensor of shape {}", begin, end, to_string(body.shape)));
  }
  const std::int64_t skipped = begin * body.shape.row_width();
  return autograd::record({.name = "rows",
                           .inputs = {*this},
                           .backward = [from = body.shape, begin, end](const BackwardCall& call) -> Gradients {
                             const Tensor& dy = call.gradient();
                             Tensor dx = zeros(from, dy.dtype(), dy.device());
                             dx.rows(begin, end).assign(dy);
                             return {dx};
                           }},
                          make_view(body.storage, body.offset + skipped, body.shape.with(0, end - begin), body.dtype));
}

Tensor Tensor::clone() const {
  const TensorBody& body = body_of("clone", *this);
  Tensor result = empty(body.shape, body.dtype, body.storage->device());
  copy_elements(body, *result.body());
  return autograd::record({.name = "clone",
                           .inputs = {*this},
                           .backward = [](const BackwardCall& call) -> Gradients { return {call.gradient()}; }},
                          result);
}

Tensor Tensor::to(Device device) const {
  const TensorBody& body = body_of("to", *this);
  const Device from = body.storage->device();
  if (from == device) return *this;
  Tensor result = empty(body.shape, body.dtype, device);
  copy_elements(body, *result.body());
  return autograd::record(
      {.name = "to",
       .inputs = {*this},
       .backward = [from](const BackwardCall& call) -> Gradients { return {call.gradient().to(from)}; }},
      result);
}

Tensor Tensor::detach() const {
  const TensorBody& body = body_of("detach", *this);
  return make_view(body.storage, body.offset, body.shape, body.dtype);
}

Tensor& Tensor::fill(double value) {
  TensorBody& body = writable_body("fill", *this);
  const Device device = body.storage->device();
  visit_dtype(body.dtype, [&]<typename T>(TypeTag<T>) {
    const T element = static_cast<T>(value);
    if (device.kind != Device::Kind::cpu) {
      return cuda_fill(device.index, body.bytes(), &element, sizeof(T), elements());
    }
    T* out = data<T>();
    parallel_chunks(elements(), 1 << 18,
                    [&](std::int64_t begin, std::int64_t end) { std::fill(out + begin, out + end, element); });
  });
  body.storage->count_write();
  return *this;
}

Tensor& Tensor::assign(const Tensor& source) {
  TensorBody& body = writable_body("assign", *this);
  const TensorBody& from = body_of("assign", source);
  require_same("assign", body, from);
  copy_elements(from, body);
  body.storage->count_write();
  return *this;
}

Tensor& Tensor::accumulate(const Tensor& source, double scale) {
  TensorBody& body = writable_body("accumulate", *this);
  require_same("accumulate", body, body_of("accumulate", source));
  const Device device = body.storage->device(), from = source.device();
  if (!(device == from)) {
    throw DeviceError("accumulate", fmt::format("the target is on {}, the source on {}; to(device) moves one",
                                                to_string(device), to_string(from)));
  }
  visit_stored_floating("accumulate", body.dtype, [&]<typename T>(TypeTag<T>) {
    const auto* addition = reinterpret_cast<const T*>(source.body()->bytes());
    auto* sum = reinterpret_cast<T*>(body.bytes());
    if (device.kind == Device::Kind::cpu) {
      accumulate_elements(addition, static_cast<AccumType<T>>(scale), sum, elements());
    } else {
      cuda_accumulate(device.index, addition, static_cast<AccumType<T>>(scale), sum, elements());
    }
  });
  body.storage->count_write();
  return *this;
}

template Tensor Tensor::from_span<float>(std::span<const float>, const Shape&, Device);
template Tensor Tensor::from_vector<float>(const std::vector<float>&, const Shape&, Device);
template float* Tensor::data<float>();
template const float* Tensor::data<float>() const;
template std::span<float> Tensor::span<float>();
template std::span<const float> Tensor::span<float>() const;
template float Tensor::item<float>() const;
template std::vector<float> Tensor::to_vector<float>() const;

template Tensor Tensor::from_span<double>(std::span<const double>, const Shape&, Device);
template Tensor Tensor::from_vector<double>(const std::vector<double>&, const Shape&, Device);
template double* Tensor::data<double>();
template const double* Tensor::data<double>() const;
template std::span<double> Tensor::span<double>();
template std::span<const double> Tensor::span<double>() const;
template double Tensor::item<double>() const;
template std::vector<double> Tensor::to_vector<double>() const;

template Tensor Tensor::from_span<std::int32_t>(std::span<const std::int32_t>, const Shape&, Device);
template Tensor Tensor::from_vector<std::int32_t>(const std::vector<std::int32_t>&, const Shape&, Device);
template std::int32_t* Tensor::data<std::int32_t>();
template const std::int32_t* Tensor::data<std::int32_t>() const;
template std::span<std::int32_t> Tensor::span<std::int32_t>();
template std::span<const std::int32_t> Tensor::span<std::int32_t>() const;
template std::int32_t Tensor::item<std::int32_t>() const;
template std::vector<std::int32_t> Tensor::to_vector<std::int32_t>() const;

template Tensor Tensor::from_span<std::int64_t>(std::span<const std::int64_t>, const Shape&, Device);
template Tensor Tensor::from_vector<std::int64_t>(const std::vector<std::int64_t>&, const Shape&, Device);
template std::int64_t* Tensor::data<std::int64_t>();
template const std::int64_t* Tensor::data<std::int64_t>() const;
template std::span<std::int64_t> Tensor::span<std::int64_t>();
template std::span<const std::int64_t> Tensor::span<std::int64_t>() const;
template std::int64_t Tensor::item<std::int64_t>() const;
template std::vector<std::int64_t> Tensor::to_vector<std::int64_t>() const;

template Tensor Tensor::from_span<bool>(std::span<const bool>, const Shape&, Device);
template Tensor Tensor::from_vector<bool>(const std::vector<bool>&, const Shape&, Device);
template bool* Tensor::data<bool>();
template const bool* Tensor::data<bool>() const;
template std::span<bool> Tensor::span<bool>();
template std::span<const bool> Tensor::span<bool>() const;
template bool Tensor::item<bool>() const;
template std::vector<bool> Tensor::to_vector<bool>() const;

template Tensor Tensor::from_span<bfloat16>(std::span<const bfloat16>, const Shape&, Device);
template Tensor Tensor::from_vector<bfloat16>(const std::vector<bfloat16>&, const Shape&, Device);
template bfloat16* Tensor::data<bfloat16>();
template const bfloat16* Tensor::data<bfloat16>() const;
template std::span<bfloat16> Tensor::span<bfloat16>();
template std::span<const bfloat16> Tensor::span<bfloat16>() const;
template bfloat16 Tensor::item<bfloat16>() const;
template std::vector<bfloat16> Tensor::to_vector<bfloat16>() const;

void* device_address(const Tensor& tensor) {
  throw_if_missing(tensor);
  if (!tensor.defined()) throw ShapeError("device_address", "the tensor is not defined");
  return tensor.body()->bytes();
}

}  // namespace bough
