#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "bough/detail/simt/collective.h"
#include "kernels/functors/binary.h"

/// Reductions of [outer, reduced, inner] over the middle axis: in pieces of it, whose results are reduced in turn,
/// always in the same order. float is reduced in double.
namespace bough::simt {

struct ReduceExtents {
  std::int64_t outer = 1, reduced = 1, inner = 1;
};

/// How partial results become one, and where they start.
template <typename A>
struct Reducer {
  BinaryFunction function = BinaryFunction::add;  ///< add, mul, maximum or minimum
  A start{};

  BOUGH_DEVICE A operator()(A a, A b) const { return scalar::Binary{function}(a, b); }
};

template <typename A>
Reducer<A> reducer(BinaryFunction function) {
  using Limits = std::numeric_limits<A>;
  constexpr A lowest = Limits::has_infinity ? -Limits::infinity() : Limits::min();
  constexpr A highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  if (function == BinaryFunction::maximum) return {function, lowest};
  if (function == BinaryFunction::minimum) return {function, highest};
  return {function, function == BinaryFunction::mul ? A{1} : A{0}};
}

/// A block for each piece of a row, where inner is 1.
template <typename From, typename To, typename A>
struct ReduceRows {
  static constexpr int block_size = 256;
  static constexpr std::int64_t piece = 16 * block_size;  ///< elements

  Reducer<A> reducer;
  std::int64_t outer = 1, reduced = 1, pieces = 1;
  const From* x = nullptr;
  To* result = nullptr;  ///< [outer, pieces]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const auto slots = context.template shared<A>(warp_size);
    const std::int64_t row = context.block() / pieces, first = context.block() % pieces * piece;
    const std::int64_t limit = first + piece < reduced ? first + piece : reduced;
    A value = reducer.start;
    for (std::int64_t i = first + context.thread(); i < limit; i += block_size) {
      value = reducer(value, static_cast<A>(context.load(x + row * reduced + i)));
    }
    value = block_reduce(context, slots, value, reducer);
    if (context.thread() == 0) context.store(result + context.block(), static_cast<To>(value));
  }
};

/// A thread for each piece of a column; neighbours for neighbouring columns.
template <typename From, typename To, typename A>
struct ReduceColumns {
  static constexpr int block_size = 128;
  static constexpr std::int64_t piece = 64;  ///< elements

  Reducer<A> reducer;
  std::int64_t outer = 1, reduced = 1, inner = 1, pieces = 1;
  const From* x = nullptr;
  To* result = nullptr;  ///< [outer, pieces, inner]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t number = thread_number<block_size>(context);
    if (number >= outer * pieces * inner) return;
    const std::int64_t unit = number / inner, column = number % inner;
    const std::int64_t row = unit / pieces, first = unit % pieces * piece;
    const std::int64_t limit = first + piece < reduced ? first + piece : reduced;
    A value = reducer.start;
    for (std::int64_t i = first; i < limit; ++i) {
      value = reducer(value, static_cast<A>(context.load(x + (row * reduced + i) * inner + column)));
    }
    context.store(result + number, static_cast<To>(value));
  }
};

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
struct ArgReduceGradient {
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

template <typename A, typename Queue, typename From, typename To>
void reduce_pieces(Queue& queue, BinaryFunction function, const ReduceExtents& extents, bool by_rows,
                   std::int64_t pieces, const From* x, To* result) {
  const Reducer<A> combine = reducer<A>(function);
  if (by_rows) {
    using Body = ReduceRows<From, To, A>;
    queue.launch({.name = "reduce_rows",
                  .num_blocks = extents.outer * pieces,
                  .block_size = Body::block_size,
                  .shared_bytes = block_reduce_bytes<A>()},
                 Body{combine, extents.outer, extents.reduced, pieces, x, result});
  } else {
    using Body = ReduceColumns<From, To, A>;
    launch_threads(queue, "reduce_columns", extents.outer * pieces * extents.inner,
                   Body{combine, extents.outer, extents.reduced, extents.inner, pieces, x, result});
  }
}

/// result [outer, inner]. Over nothing: where the reduction starts. A: the type of partial results.
template <typename A, typename Queue, typename From, typename To>
void reduce(Queue& queue, BinaryFunction function, const ReduceExtents& extents, const From* x, To* result) {
  const std::int64_t short_piece = ReduceColumns<From, To, A>::piece;
  const bool by_rows = extents.inner == 1 && extents.reduced > short_piece;
  const std::int64_t pieces =
      extents.reduced == 0 ? 1 : blocks_for(extents.reduced, by_rows ? ReduceRows<From, To, A>::piece : short_piece);
  if (pieces == 1) return reduce_pieces<A>(queue, function, extents, by_rows, 1, x, result);
  const auto partials = queue.template scratch<A>(extents.outer * pieces * extents.inner);
  reduce_pieces<A>(queue, function, extents, by_rows, pieces, x, partials.data());
  reduce<A>(queue, function, {extents.outer, pieces, extents.inner}, static_cast<const A*>(partials.data()), result);
}

template <typename Queue, typename T>
void arg_reduce(Queue& queue, const ArgReduce<T>& body) {
  launch_warps(queue, "arg_reduce", body.extents.outer * body.extents.inner, body);
}
template <typename Queue, typename T>
void arg_reduce_gradient(Queue& queue, const ArgReduceGradient<T>& body) {
  launch_threads(queue, "arg_reduce_gradient", body.extents.outer * body.extents.reduced * body.extents.inner, body);
}

}  // namespace bough::simt
