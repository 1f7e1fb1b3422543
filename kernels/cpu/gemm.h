#pragma once

#include <cstdint>

#include "bough/ops/matmul.h"
#include "kernels/backend.h"
#include "kernels/scratch.h"

namespace bough {

/// A matrix inside a tensor: element (i, j) is data[i * row_stride + j * column_stride]. One of the strides is 1, so
/// the transposed matrix is the same memory with the strides exchanged.
template <typename T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  T* at(std::int64_t row, std::int64_t column) const { return data + row * row_stride + column * column_stride; }
  Matrix block(std::int64_t row, std::int64_t column, std::int64_t num_rows, std::int64_t num_columns) const {
    return {at(row, column), num_rows, num_columns, row_stride, column_stride};
  }
  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

/// Rows one after the other.
template <typename T>
Matrix<T> dense_matrix(T* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns, 1};
}

/// What happens to the sums on their way to c.
template <typename T>
struct GemmOptions {
  bool accumulate = false;                   ///< add to what c holds
  const T* bias = nullptr;                   ///< one value a column of c, added after that
  Activation activation = Activation::none;  ///< applied last
  T* before_activation = nullptr;            ///< laid out as c; receives what the activation was applied to
};

/// c = a b, in the order k = 0, 1, ... within blocks of fixed depth: an element depends on its row of a, its column of
/// b and their length only. What c held before is read only to accumulate. Rows of c are contiguous and do not overlap
/// a or b. float and double.
template <typename T>
void gemm(Cpu, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const GemmOptions<T>& options = {});

/// b of a product in the order in which gemm reads it: packed once for many products with few rows, where packing takes
/// longer than multiplying.
template <typename T>
struct PackedMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Scratch<T> panels;
};
template <typename T>
PackedMatrix<T> pack_matrix(Cpu, Matrix<const T> b);

/// The same bits as with b itself. Rows of a are contiguous.
template <typename T>
void gemm(Cpu, Matrix<const T> a, const PackedMatrix<T>& b, Matrix<T> c, const GemmOptions<T>& options = {});

/// Equally shaped products one after the other in memory; a step of 0 uses the same operand for all.
struct GemmBatch {
  std::int64_t count = 0;
  std::int64_t step_a = 0;
  std::int64_t step_b = 0;
  std::int64_t step_c = 0;
};
template <typename T>
void gemm_batch(Cpu, const GemmBatch& batch, Matrix<const T> a, Matrix<const T> b, Matrix<T> c);

}  // namespace bough
