#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/simt/gemm.h"

namespace bough::cuda {

/// A factor as BLAS knows it: columns one after the other, `leading` elements apart.
template <typename T>
struct ColumnMajorFactor {
  const T* data = nullptr;
  bool transposed = false;  ///< what lies there is the transpose of what is multiplied
  std::int64_t leading = 1;
  std::int64_t step = 0;  ///< to the next product of a batch
};

/// result [rows, columns] = left [rows, depth] right [depth, columns], all of them by columns.
template <typename T>
struct ColumnMajorProduct {
  std::int64_t rows = 0, columns = 0, depth = 0;
  ColumnMajorFactor<T> left, right;
  T* result = nullptr;
  std::int64_t leading = 1, step = 0;
};

/// The transpose of a matrix with one stride of 1. Memory with rows one after the other already is, read by columns,
/// their transpose. With a single row or column both strides may be 1, and that of the single one means nothing.
template <typename T>
ColumnMajorFactor<T> transpose_by_columns(const simt::MatrixView<const T>& matrix, std::int64_t step) {
  const bool by_rows =
      (matrix.column_stride == 1 || matrix.columns <= 1) && (matrix.row_stride >= matrix.columns || matrix.rows <= 1);
  const std::int64_t length = by_rows ? matrix.columns : matrix.rows, lines = by_rows ? matrix.rows : matrix.columns;
  const std::int64_t stride = by_rows ? matrix.row_stride : matrix.column_stride;
  return {matrix.data, !by_rows, std::max<std::int64_t>({1, length, lines > 1 ? stride : 0}), step};
}

/// c = a b with the rows of c contiguous: by columns that is c^T = b^T a^T.
template <typename T>
ColumnMajorProduct<T> column_major(const simt::Gemm<T>& product) {
  const simt::MatrixView<T>& c = product.c;
  return {.rows = c.columns,
          .columns = c.rows,
          .depth = product.a.columns,
          .left = transpose_by_columns(product.b, product.batch.b),
          .right = transpose_by_columns(product.a, product.batch.a),
          .result = c.data,
          .leading = std::max<std::int64_t>({1, c.columns, c.rows > 1 ? c.row_stride : 0}),
          .step = product.batch.c};
}

}  // namespace bough::cuda
