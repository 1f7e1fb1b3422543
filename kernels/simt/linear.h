#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"

/// What a dense layer needs besides its product (gemm.h) and the derivative of its activation (unary.h).
namespace bough::simt {

/// sums[j] = x[0][j] + x[1][j] + ... by ranges of rows, a thread for each column, which are then added up in order.
template <typename T>
struct ColumnSums {
  static constexpr int block_size = 128;

  std::int64_t rows = 0, width = 1, rows_per_range = 1;
  const T* x = nullptr;
  T* sums = nullptr;  ///< [ranges, width]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t column_blocks = blocks_for(width, block_size), range = context.block() / column_blocks;
    const std::int64_t column = context.block() % column_blocks * block_size + context.thread();
    if (column >= width) return;
    const std::int64_t first = range * rows_per_range, limit = first + rows_per_range;
    T sum = 0;
    for (std::int64_t row = first; row < limit && row < rows; ++row) sum += context.load(x + row * width + column);
    context.store(sums + range * width + column, sum);
  }
};

/// Zeros without rows.
template <typename Queue, typename T>
void column_sums(Queue& queue, std::int64_t rows, std::int64_t width, const T* x, T* sums) {
  using Body = ColumnSums<T>;
  const std::int64_t rows_per_range = rows / 64 < 64 ? 64 : rows / 64, ranges = blocks_for(rows, rows_per_range);
  const auto partials = queue.template scratch<T>(ranges * width);
  const auto launch = [&](std::int64_t blocks, const Body& body) {
    queue.launch({.name = "column_sums",
                  .num_blocks = blocks * blocks_for(width, Body::block_size),
                  .block_size = Body::block_size},
                 body);
  };
  launch(ranges, Body{rows, width, rows_per_range, x, partials.data()});
  launch(1, Body{ranges, width, ranges, partials.data(), sums});
}

}  // namespace bough::simt
