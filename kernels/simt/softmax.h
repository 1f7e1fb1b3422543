#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "bough/detail/simt/collective.h"
#include "kernels/simt/reduce.h"

/// Softmax along the middle axis of [outer, reduced, inner] and its logarithm: a warp for each line.
namespace bough::simt {

/// The elements of a warp's line: where it begins, and which of them a lane takes.
template <int BlockSize>
struct Line {
  ReduceExtents extents;

  template <typename Context>
  BOUGH_DEVICE bool exists(Context& context) const {
    return warp_number<BlockSize>(context) < extents.outer * extents.inner;
  }
  template <typename Context, typename F>
  BOUGH_DEVICE void for_each(Context& context, const F& f) const {
    const std::int64_t number = warp_number<BlockSize>(context), inner = extents.inner;
    const std::int64_t begin = number / inner * extents.reduced * inner + number % inner;
    for (std::int64_t i = context.lane(); i < extents.reduced; i += warp_size) f(begin + i * inner);
  }
};

/// y = exp(x - row_max) / row_sum, or x - row_max - log(row_sum). Zeros, or -infinity, where all of x are -infinity.
template <typename T>
struct AxisSoftmax {
  static constexpr int block_size = 128;

  Line<block_size> line;
  bool logarithm = false;
  const T* x = nullptr;
  T* y = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    if (!line.exists(context)) return;
    constexpr T lowest = -std::numeric_limits<T>::infinity();
    T row_max = lowest, row_sum = 0;
    line.for_each(context, [&](std::int64_t place) { row_max = mp::Max{}(row_max, context.load(x + place)); });
    row_max = warp_max(context, row_max);
    const bool masked = row_max == lowest;
    if (masked) row_max = 0;
    line.for_each(context, [&](std::int64_t place) { row_sum += std::exp(context.load(x + place) - row_max); });
    row_sum = warp_sum(context, row_sum);
    const T log_row_sum = std::log(row_sum), empty = logarithm ? lowest : T{0};
    line.for_each(context, [&](std::int64_t place) {
      // In two steps: of a large maximum plus a small logarithm, little of the logarithm would be left.
      const T difference = context.load(x + place) - row_max;
      const T value = logarithm ? difference - log_row_sum : std::exp(difference) / row_sum;
      context.store(y + place, masked ? empty : value);
    });
  }
};

/// dx = y (dy - sum(y dy)), or dy - exp(y) sum(dy), which is 0 where all of y are -infinity.
template <typename T>
struct AxisSoftmaxBackward {
  static constexpr int block_size = 128;

  Line<block_size> line;
  bool logarithm = false;
  const T* y = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    if (!line.exists(context)) return;
    constexpr T lowest = -std::numeric_limits<T>::infinity();
    T row_max = lowest, row_sum = 0;
    line.for_each(context, [&](std::int64_t place) {
      const T value = context.load(y + place), gradient = context.load(dy + place);
      row_max = mp::Max{}(row_max, value);
      row_sum += logarithm ? gradient : value * gradient;
    });
    row_max = warp_max(context, row_max);
    row_sum = warp_sum(context, row_sum);
    line.for_each(context, [&](std::int64_t place) {
      const T value = context.load(y + place), gradient = context.load(dy + place);
      const T result = logarithm ? gradient - std::exp(value) * row_sum : value * (gradient - row_sum);
      context.store(dx + place, row_max == lowest ? T{0} : result);
    });
  }
};

template <typename Queue, typename T>
void axis_softmax(Queue& queue, const AxisSoftmax<T>& body) {
  launch_warps(queue, "softmax", body.line.extents.outer * body.line.extents.inner, body);
}
template <typename Queue, typename T>
void axis_softmax_backward(Queue& queue, const AxisSoftmaxBackward<T>& body) {
  launch_warps(queue, "softmax_backward", body.line.extents.outer * body.line.extents.inner, body);
}

}  // namespace bough::simt
