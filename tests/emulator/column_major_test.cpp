#include "kernels/cuda/cublas/column_major.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bough::cuda {
namespace {

/// How a matrix lies in memory.
struct Layout {
  bool by_rows;
  std::int64_t padding;  ///< elements between its rows or columns
};
constexpr Layout layouts[] = {{true, 0}, {true, 3}, {false, 0}, {false, 2}};

/// A batch of matrices of distinct small numbers; what lies between them is not a number.
struct Matrices {
  std::vector<double> memory;
  simt::MatrixView<double> first;
  std::int64_t step;

  Matrices(std::int64_t count, std::int64_t rows, std::int64_t columns, Layout layout) {
    const std::int64_t pitch = (layout.by_rows ? columns : rows) + layout.padding;
    step = pitch * (layout.by_rows ? rows : columns) + 5;
    memory.assign(static_cast<std::size_t>(count * step), std::nan(""));
    first = {memory.data(), rows, columns, layout.by_rows ? pitch : 1, layout.by_rows ? 1 : pitch};
    for (std::int64_t number = 0; number < count; ++number) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j)
          at(number, i, j) = static_cast<double>((7 * number + 5 * i + 3 * j) % 11) - 5;
      }
    }
  }
  double& at(std::int64_t number, std::int64_t i, std::int64_t j) {
    return memory[static_cast<std::size_t>(number * step + i * first.row_stride + j * first.column_stride)];
  }
};

/// What BLAS does with a call, and what it demands of one.
void run(const ColumnMajorProduct<double>& call, std::int64_t count) {
  const auto element = [](const ColumnMajorFactor<double>& factor, std::int64_t number, std::int64_t i,
                          std::int64_t j) {
    return factor.data[number * factor.step + (factor.transposed ? j + i * factor.leading : i + j * factor.leading)];
  };
  EXPECT_GE(call.left.leading, std::max<std::int64_t>(1, call.left.transposed ? call.depth : call.rows));
  EXPECT_GE(call.right.leading, std::max<std::int64_t>(1, call.right.transposed ? call.columns : call.depth));
  EXPECT_GE(call.leading, std::max<std::int64_t>(1, call.rows));
  for (std::int64_t number = 0; number < count; ++number) {
    for (std::int64_t i = 0; i < call.rows; ++i) {
      for (std::int64_t j = 0; j < call.columns; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < call.depth; ++p) {
          sum += element(call.left, number, i, p) * element(call.right, number, p, j);
        }
        call.result[number * call.step + i + j * call.leading] = sum;
      }
    }
  }
}

void check(std::int64_t m, std::int64_t n, std::int64_t k, Layout layout_a, Layout layout_b, std::int64_t padding_c,
           bool share_a, bool share_b) {
  constexpr std::int64_t count = 3;
  Matrices a(count, m, k, layout_a), b(count, k, n, layout_b), c(count, m, n, {true, padding_c});
  const auto view = [](const simt::MatrixView<double>& x) {
    return simt::MatrixView<const double>{x.data, x.rows, x.columns, x.row_stride, x.column_stride};
  };
  const simt::Gemm<double> product{
      view(a.first), view(b.first), c.first, {}, {count, share_a ? 0 : a.step, share_b ? 0 : b.step, c.step}};
  run(column_major(product), count);
  for (std::int64_t number = 0; number < count; ++number) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double expected = 0;
        for (std::int64_t p = 0; p < k; ++p)
          expected += a.at(share_a ? 0 : number, i, p) * b.at(share_b ? 0 : number, p, j);
        ASSERT_EQ(c.at(number, i, j), expected) << number << ": " << i << ", " << j;
      }
    }
  }
}

TEST(ColumnMajorProduct, IsTheSameProductForEveryLayoutAndSize) {
  for (const std::int64_t m : {1, 2, 5}) {
    for (const std::int64_t n : {1, 3, 4}) {
      for (const std::int64_t k : {1, 2, 6}) {
        for (const Layout a : layouts) {
          for (const Layout b : layouts) {
            for (const std::int64_t padding : {0, 4}) {
              SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << (a.by_rows ? ", a by rows" : "")
                                              << (b.by_rows ? ", b by rows" : ""));
              check(m, n, k, a, b, padding, false, false);
            }
          }
        }
      }
    }
  }
}

TEST(ColumnMajorProduct, TakesOneFactorForAllOfABatch) {
  for (const Layout a : layouts) {
    for (const Layout b : layouts) {
      check(4, 3, 5, a, b, 0, true, false);
      check(4, 3, 5, a, b, 0, false, true);
    }
  }
}

/// dense_matrix(x, n, 1).transposed() has two strides of 1, of which that of its only row means nothing.
TEST(ColumnMajorProduct, TakesAColumnAsARow) {
  std::vector<double> column = {1, 2, 3, 4}, right = {1, 10, 100, 1000}, result = {0};
  const simt::Gemm<double> product{
      {column.data(), 1, 4, 1, 1}, {right.data(), 4, 1, 1, 1}, {result.data(), 1, 1, 1, 1}, {}, {}};
  run(column_major(product), 1);
  EXPECT_EQ(result[0], 4321);
}

}  // namespace
}  // namespace bough::cuda
