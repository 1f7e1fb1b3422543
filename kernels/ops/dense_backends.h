#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/linear.h"
#include "kernels/cuda/dense.h"

/// Products and dense layers on a GPU with the arguments of those on the CPU.
namespace bough {

template <typename T>
simt::MatrixView<T> matrix_view(const Matrix<T>& matrix) {
  return {matrix.data, matrix.rows, matrix.columns, matrix.row_stride, matrix.column_stride};
}

template <typename T>
void gemm(Cuda gpu, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, Matrix<T> c,
          const std::type_identity_t<GemmOptions<T>>& options = {}) {
  gemm(gpu, simt::Gemm<T>{matrix_view(a),
                          matrix_view(b),
                          matrix_view(c),
                          {options.accumulate, options.bias, options.activation, options.before_activation},
                          {}});
}

template <typename T>
void gemm_batch(Cuda gpu, const GemmBatch& batch, std::type_identity_t<Matrix<const T>> a,
                std::type_identity_t<Matrix<const T>> b, Matrix<T> c) {
  gemm(
      gpu,
      simt::Gemm<T>{
          matrix_view(a), matrix_view(b), matrix_view(c), {}, {batch.count, batch.step_a, batch.step_b, batch.step_c}});
}

template <typename T>
void column_sums(Cuda gpu, Rows<const T> x, T* sums) {
  column_sums(gpu, x.count, x.width, x.data, sums);
}

template <typename T>
void linear_backward(Cuda gpu, Activation activation, Rows<const T> kept, Rows<const T> dy, Rows<T> dz, T* sums) {
  const UnaryFunction function = activation == Activation::relu ? UnaryFunction::relu : UnaryFunction::gelu;
  unary_gradient(gpu, function, {}, kept.data, dy.data, dz.data, dy.elements());
  if (sums != nullptr) column_sums(gpu, dz.count, dz.width, static_cast<const T*>(dz.data), sums);
}

}  // namespace bough
