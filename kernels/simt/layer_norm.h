#pragma once

#include <cmath>
#include <cstdint>

#include "bough/detail/simt/collective.h"

namespace bough::simt {

/// y = layer_norm(x + residual): a warp for each row. residual and sum may be null.
template <typename T>
struct LayerNorm {
  static constexpr int block_size = 128;

  std::int64_t rows = 0, width = 1;
  const T* x = nullptr;
  const T* residual = nullptr;
  const T* weight = nullptr;
  const T* bias = nullptr;
  double epsilon = 0;
  T* sum = nullptr;
  T* y = nullptr;
  T* statistics = nullptr;  ///< mean and 1 / deviation of each row

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t row = warp_number<block_size>(context);
    if (row >= rows) return;
    const auto input = [&](std::int64_t i) {
      const T value = context.load(x + row * width + i);
      return residual == nullptr ? value : value + context.load(residual + row * width + i);
    };
    T total = 0;
    for (std::int64_t i = context.lane(); i < width; i += warp_size) {
      const T value = input(i);
      if (sum != nullptr) context.store(sum + row * width + i, value);
      total += value;
    }
    const T mean = warp_sum(context, total) / static_cast<T>(width);
    T squares = 0;
    for (std::int64_t i = context.lane(); i < width; i += warp_size) {
      const T difference = input(i) - mean;
      squares += difference * difference;
    }
    const double variance = static_cast<double>(warp_sum(context, squares)) / static_cast<double>(width);
    const T inverse = static_cast<T>(1 / std::sqrt(variance + epsilon));
    for (std::int64_t i = context.lane(); i < width; i += warp_size) {
      context.store(y + row * width + i,
                    (input(i) - mean) * inverse * context.load(weight + i) + context.load(bias + i));
    }
    if (context.lane() == 0) {
      context.store(statistics + 2 * row, mean);
      context.store(statistics + 2 * row + 1, inverse);
    }
  }
};

/// With n the normalised row and g = dy * weight: dx = (g - mean(g) - n mean(g n)) / deviation, plus dsum if given.
template <typename T>
struct LayerNormInputBackward {
  static constexpr int block_size = 128;

  std::int64_t rows = 0, width = 1;
  const T* x = nullptr;
  const T* weight = nullptr;
  const T* statistics = nullptr;
  const T* dy = nullptr;
  const T* dsum = nullptr;
  T* dx = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t row = warp_number<block_size>(context);
    if (row >= rows) return;
    const T mean = context.load(statistics + 2 * row), inverse = context.load(statistics + 2 * row + 1);
    const auto normalized = [&](std::int64_t i) { return (context.load(x + row * width + i) - mean) * inverse; };
    const auto scaled = [&](std::int64_t i) { return context.load(dy + row * width + i) * context.load(weight + i); };
    T g_sum = 0, gn_sum = 0;
    for (std::int64_t i = context.lane(); i < width; i += warp_size) {
      const T g = scaled(i);
      g_sum += g;
      gn_sum += g * normalized(i);
    }
    const T g_mean = warp_sum(context, g_sum) / static_cast<T>(width);
    const T gn_mean = warp_sum(context, gn_sum) / static_cast<T>(width);
    for (std::int64_t i = context.lane(); i < width; i += warp_size) {
      const T gradient = (scaled(i) - g_mean - normalized(i) * gn_mean) * inverse;
      context.store(dx + row * width + i, dsum == nullptr ? gradient : gradient + context.load(dsum + row * width + i));
    }
  }
};

/// dweight = sum over rows of dy n, dbias = sum of dy: a block for a range of rows and a run of columns, whose sums go
/// into a row of `partials` [ranges, 2, width].
template <typename T>
struct LayerNormParameterSums {
  static constexpr int block_size = 128;

  std::int64_t rows = 0, width = 1, rows_per_range = 1;
  const T* x = nullptr;
  const T* statistics = nullptr;
  const T* dy = nullptr;
  T* partials = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t column_blocks = blocks_for(width, block_size);
    const std::int64_t range = context.block() / column_blocks;
    const std::int64_t column = context.block() % column_blocks * block_size + context.thread();
    if (column >= width) return;
    const std::int64_t first = range * rows_per_range, limit = first + rows_per_range;
    T dweight = 0, dbias = 0;
    for (std::int64_t row = first; row < limit && row < rows; ++row) {
      const T gradient = context.load(dy + row * width + column);
      const T normalized = (context.load(x + row * width + column) - context.load(statistics + 2 * row)) *
                           context.load(statistics + 2 * row + 1);
      dweight += gradient * normalized;
      dbias += gradient;
    }
    context.store(partials + 2 * range * width + column, dweight);
    context.store(partials + (2 * range + 1) * width + column, dbias);
  }
};

/// Adds up the ranges, in order: a thread for each column.
template <typename T>
struct LayerNormParameterBackward {
  static constexpr int block_size = 128;

  std::int64_t ranges = 0, width = 1;
  const T* partials = nullptr;
  T* dweight = nullptr;
  T* dbias = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t column = thread_number<block_size>(context);
    if (column >= width) return;
    T weight = 0, bias = 0;
    for (std::int64_t range = 0; range < ranges; ++range) {
      weight += context.load(partials + 2 * range * width + column);
      bias += context.load(partials + (2 * range + 1) * width + column);
    }
    context.store(dweight + column, weight);
    context.store(dbias + column, bias);
  }
};

template <typename Queue, typename T>
void layer_norm(Queue& queue, const LayerNorm<T>& body) {
  launch_warps(queue, "layer_norm", body.rows, body);
}

/// dx, dweight and dbias may be null, the last two together.
template <typename Queue, typename T>
void layer_norm_backward(Queue& queue, const LayerNormInputBackward<T>& input, T* dweight, T* dbias) {
  if (input.dx != nullptr) {
    launch_warps(queue, "layer_norm_backward", input.rows, input);
  }
  if (dweight == nullptr) return;
  const std::int64_t rows_per_range = input.rows / 64 < 64 ? 64 : input.rows / 64;
  const std::int64_t ranges = blocks_for(input.rows, rows_per_range);
  const auto partials = queue.template scratch<T>(ranges * 2 * input.width);
  using Sums = LayerNormParameterSums<T>;
  queue.launch({.name = "layer_norm_parameter_sums",
                .num_blocks = ranges * blocks_for(input.width, Sums::block_size),
                .block_size = Sums::block_size},
               Sums{input.rows, input.width, rows_per_range, input.x, input.statistics, input.dy, partials.data()});
  using Gradients = LayerNormParameterBackward<T>;
  launch_threads(queue, "layer_norm_parameter_backward", input.width,
                 Gradients{ranges, input.width, partials.data(), dweight, dbias});
}

}  // namespace bough::simt
