#pragma once

#include "kernels/cpu/linear.h"
#include "kernels/cuda/unary.h"

/// Pointers are into the memory of the GPU. T: float, double.
namespace bough {

/// sums[j] = the sum of column j of x [rows, width].
template <typename T>
void column_sums(Cuda, std::int64_t rows, std::int64_t width, const T* x, T* sums);

// With the arguments of the CPU; see kernels/cpu/linear.h.

template <typename T>
void column_sums(Cuda gpu, Rows<const T> x, T* sums) {
  column_sums(gpu, x.count, x.width, x.data, sums);
}

template <typename T>
void linear_backward(Cuda gpu, Activation activation, Rows<const T> saved, Rows<const T> dy, Rows<T> dz, T* sums) {
  const UnaryFunction function = activation == Activation::relu ? UnaryFunction::relu : UnaryFunction::gelu;
  unary_backward(gpu, function, {}, saved.data, dy.data, dz.data, dy.elements());
  if (sums != nullptr) column_sums(gpu, dz.count, dz.width, static_cast<const T*>(dz.data), sums);
}

}  // namespace bough
