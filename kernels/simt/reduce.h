#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "bough/detail/simt/collective.h"
#include "kernels/functors/binary.h"

/// Reductions of [outer, reduced, inner] over the middle axis: in partitions of it, whose results are reduced in turn,
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

/// A block for each partition of a row, where inner is 1.
template <typename From, typename To, typename A>
struct ReduceRows {
  static constexpr int block_size = 256;
  static constexpr std::int64_t partition = 16 * block_size;  ///< elements

  Reducer<A> reducer;
  std::int64_t outer = 1, reduced = 1, partitions = 1;
  const From* x = nullptr;
  To* result = nullptr;  ///< [outer, partitions]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const auto partials = context.template shared<A>(warp_size);
    const std::int64_t row = context.block() / partitions, first = context.block() % partitions * partition;
    const std::int64_t limit = first + partition < reduced ? first + partition : reduced;
    A value = reducer.start;
    for (std::int64_t i = first + context.thread(); i < limit; i += block_size) {
      value = reducer(value, static_cast<A>(context.load(x + row * reduced + i)));
    }
    value = block_reduce(context, partials, value, reducer);
    if (context.thread() == 0) context.store(result + context.block(), static_cast<To>(value));
  }
};

/// A thread for each partition of a column; neighbours for neighbouring columns.
template <typename From, typename To, typename A>
struct ReduceColumns {
  static constexpr int block_size = 128;
  static constexpr std::int64_t partition = 64;  ///< elements

  Reducer<A> reducer;
  std::int64_t outer = 1, reduced = 1, inner = 1, partitions = 1;
  const From* x = nullptr;
  To* result = nullptr;  ///< [outer, partitions, inner]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t number = thread_number<block_size>(context);
    if (number >= outer * partitions * inner) return;
    const std::int64_t unit = number / inner, column = number % inner;
    const std::int64_t row = unit / partitions, first = unit % partitions * partition;
    const std::int64_t limit = first + partition < reduced ? first + partition : reduced;
    A value = reducer.start;
    for (std::int64_t i = first; i < limit; ++i) {
      value = reducer(value, static_cast<A>(context.load(x + (row * reduced + i) * inner + column)));
    }
    context.store(result + number, static_cast<To>(value));
  }
};

template <typename A, typename Queue, typename From, typename To>
void reduce_partitions(Queue& queue, BinaryFunction function, const ReduceExtents& extents, bool by_rows,
                       std::int64_t partitions, const From* x, To* result) {
  const Reducer<A> combine = reducer<A>(function);
  if (by_rows) {
    using Body = ReduceRows<From, To, A>;
    queue.launch({.name = "reduce_rows",
                  .num_blocks = extents.outer * partitions,
                  .block_size = Body::block_size,
                  .shared_bytes = block_reduce_bytes<A>()},
                 Body{combine, extents.outer, extents.reduced, partitions, x, result});
  } else {
    using Body = ReduceColumns<From, To, A>;
    launch_threads(queue, "reduce_columns", extents.outer * partitions * extents.inner,
                   Body{combine, extents.outer, extents.reduced, extents.inner, partitions, x, result});
  }
}

/// result [outer, inner]. Over nothing: where the reduction starts. A: the type of partial results.
template <typename A, typename Queue, typename From, typename To>
void reduce(Queue& queue, BinaryFunction function, const ReduceExtents& extents, const From* x, To* result) {
  const std::int64_t short_partition = ReduceColumns<From, To, A>::partition;
  const bool by_rows = extents.inner == 1 && extents.reduced > short_partition;
  const std::int64_t partitions =
      extents.reduced == 0
          ? 1
          : blocks_for(extents.reduced, by_rows ? ReduceRows<From, To, A>::partition : short_partition);
  if (partitions == 1) return reduce_partitions<A>(queue, function, extents, by_rows, 1, x, result);
  const auto partials = queue.template scratch<A>(extents.outer * partitions * extents.inner);
  reduce_partitions<A>(queue, function, extents, by_rows, partitions, x, partials.data());
  reduce<A>(queue, function, {extents.outer, partitions, extents.inner}, static_cast<const A*>(partials.data()),
            result);
}

}  // namespace bough::simt
