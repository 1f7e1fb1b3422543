#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/gemm.h"
#include "kernels/simt/gemm.h"

namespace bough {

/// c = a b, one product or a batch, in the memory of the GPU: by cuBLAS where it can be loaded
/// (kernels/cuda/cublas_gemm.h), else by kernels/simt/gemm.h. T: float, double.
template <typename T>
void gemm(Cuda, const simt::Gemm<T>& product);

// The same with the arguments of the CPU.

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

}  // namespace bough
