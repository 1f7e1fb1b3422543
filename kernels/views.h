#pragma once

#include <cstdint>

#include "bough/core/tensor.h"
#include "kernels/device_data.h"

namespace bough {

/// Rows of equal width, one after the other: all that a kernel sees of a tensor.
template <typename T>
struct Rows {
  T* data = nullptr;
  std::int64_t count = 0;
  std::int64_t width = 0;

  T* operator[](std::int64_t row) const { return data + row * width; }
  std::int64_t elements() const { return count * width; }
};

/// A tensor as rows of its first axis. Rank 0 is one row of width 1.
template <typename T>
Rows<const T> rows_of(const Tensor& tensor) {
  const std::int64_t count = tensor.rank() == 0 ? 1 : tensor.size(0);
  return {device_data<T>(tensor), count, tensor.shape().row_width()};
}
template <typename T>
Rows<T> rows_of(Tensor& tensor) {
  const std::int64_t count = tensor.rank() == 0 ? 1 : tensor.size(0);
  return {device_data<T>(tensor), count, tensor.shape().row_width()};
}

/// A tensor as rows of its last axis. Rank 0 is one row of width 1.
template <typename T>
Rows<const T> last_axis_rows(const Tensor& tensor) {
  const std::int64_t width = tensor.rank() == 0 ? 1 : tensor.size(-1);
  return {device_data<T>(tensor), width == 0 ? 0 : tensor.elements() / width, width};
}
template <typename T>
Rows<T> last_axis_rows(Tensor& tensor) {
  const std::int64_t width = tensor.rank() == 0 ? 1 : tensor.size(-1);
  return {device_data<T>(tensor), width == 0 ? 0 : tensor.elements() / width, width};
}

}  // namespace bough
