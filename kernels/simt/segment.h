#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"

/// Reductions and softmax of segments are gspmm and edge_softmax over rows without neighbours; this is what flows back.
namespace bough::simt {

/// What each row of a segment gets back from the segment's gradient: a thread for each element, which finds its segment
/// by bisection.
template <typename T>
struct SegmentReduceBackward {
  static constexpr int block_size = 256;

  const std::int64_t* offsets = nullptr;
  std::int64_t segments = 0, rows = 0, width = 1;
  const T* gradient = nullptr;
  const std::int32_t* arg_indices = nullptr;  ///< if given, only the row that a feature was selected from gets it
  bool mean = false;                          ///< divided by the number of rows
  T* values = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= rows * width) return;
    const std::int64_t row = i / width, column = i % width;
    std::int64_t low = 0, high = segments;  // offsets[low] <= row < offsets[high]
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      if (context.load(offsets + middle) <= row) {
        low = middle;
      } else {
        high = middle;
      }
    }
    T value = context.load(gradient + low * width + column);
    if (arg_indices != nullptr && context.load(arg_indices + low * width + column) != static_cast<std::int32_t>(row))
      value = 0;
    if (mean) value /= static_cast<T>(context.load(offsets + low + 1) - context.load(offsets + low));
    context.store(values + i, value);
  }
};

template <typename Queue, typename T>
void segment_reduce_backward(Queue& queue, const SegmentReduceBackward<T>& body) {
  launch_threads(queue, "segment_reduce_backward", body.rows * body.width, body);
}

}  // namespace bough::simt
