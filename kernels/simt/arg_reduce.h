#pragma once

#include "kernels/simt/reduce.h"

/// Extreme elements of [outer, reduced, inner] along the middle axis, and where they are.
namespace bough::simt {

/// Largest or smallest element of each [o, :, i] and the first position where it stands; a NaN counts as more extreme
/// than any number. A warp for each.
template <typename T>
struct ArgReduce {
  static constexpr int block_size = 128;

  bool largest = true;
  ReduceExtents extents;  ///< reduced >= 1
  const T* x = nullptr;
  T* values = nullptr;
  std::int64_t* positions = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t number = warp_number<block_size>(context);
    if (number >= extents.outer * extents.inner) return;
    const T* line = x + number / extents.inner * extents.reduced * extents.inner + number % extents.inner;
    std::int64_t at = context.lane() < extents.reduced ? context.lane() : 0;  // lanes without elements take the first
    T best = context.load(line + at * extents.inner);
    for (std::int64_t i = context.lane() + warp_size; i < extents.reduced; i += warp_size) {
      const T value = context.load(line + i * extents.inner);
      if (!beyond(value, best)) continue;
      best = value;
      at = i;
    }
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
      const T other = context.shuffle_xor(best, distance);
      const std::int64_t other_at = context.shuffle_xor(at, distance);
      if (beyond(other, best) || (!beyond(best, other) && other_at < at)) {
        best = other;
        at = other_at;
      }
    }
    if (context.lane() != 0) return;
    context.store(values + number, best);
    context.store(positions + number, at);
  }

 private:
  BOUGH_DEVICE bool beyond(T value, T best) const {
    return (largest ? value > best : value < best) || (value != value && best == best);
  }
};

/// dx[o, positions[o, i], i] = dy[o, i], 0 elsewhere: a thread for each element of dx.
template <typename T>
struct ArgReduceBackward {
  static constexpr int block_size = 256;

  ReduceExtents extents;
  const std::int64_t* positions = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= extents.outer * extents.reduced * extents.inner) return;
    const std::int64_t row = i / extents.inner, column = i % extents.inner;
    const std::int64_t place = row / extents.reduced * extents.inner + column;
    const bool chosen = context.load(positions + place) == row % extents.reduced;
    context.store(dx + i, chosen ? context.load(dy + place) : T{0});
  }
};

template <typename Queue, typename T>
void arg_reduce(Queue& queue, const ArgReduce<T>& body) {
  launch_warps(queue, "arg_reduce", body.extents.outer * body.extents.inner, body);
}

template <typename Queue, typename T>
void arg_reduce_backward(Queue& queue, const ArgReduceBackward<T>& body) {
  launch_threads(queue, "arg_reduce_backward", body.extents.outer * body.extents.reduced * body.extents.inner, body);
}

}  // namespace bough::simt
