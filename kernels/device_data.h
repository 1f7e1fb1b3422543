#pragma once

#include <span>

#include "bough/core/errors.h"
#include "bough/core/tensor.h"
#include "src/core/tensor_body.h"

namespace bough {

/// Where the elements of a tensor are, on whatever device: for views that kernels get. TypeError for another type.
template <typename T>
T* device_data(Tensor& tensor) {
  if (tensor.dtype() != dtype_of<T>()) throw TypeError("kernel", "a tensor has another type than its kernel");
  return reinterpret_cast<T*>(tensor.body()->bytes());
}
template <typename T>
const T* device_data(const Tensor& tensor) {
  return device_data<T>(const_cast<Tensor&>(tensor));
}

template <typename T>
std::span<const T> device_span(const Tensor& tensor) {
  return {device_data<T>(tensor), static_cast<std::size_t>(tensor.elements())};
}

}  // namespace bough
