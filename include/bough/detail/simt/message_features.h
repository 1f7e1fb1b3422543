#pragma once

#include <cstdint>

#include "bough/detail/mp/adjacency.h"
#include "bough/detail/simt/collective.h"

/// How kernels read the operands of messages, and which features of a message go where.
namespace bough::simt {

/// An operand of a message: rows, which row belongs to an edge, and which elements of it to a feature.
template <typename T>
struct MessageOperand {
  const T* rows = nullptr;
  mp::End end = mp::End::edge;
  std::int64_t width = 1;
  std::int64_t step = 1;                  ///< 0 for an operand that lacks the inner axis
  const std::int64_t* offsets = nullptr;  ///< one for each outer feature

  /// Where the element of a feature is in the rows.
  template <typename Context>
  BOUGH_DEVICE std::int64_t place(Context& context, const mp::EdgeRows& edge, std::int64_t outer,
                                  std::int64_t inner) const {
    return row_number(edge) * width + context.load(offsets + outer) + inner * step;
  }

  /// Chosen by comparisons: an index known at run time only would put the numbers into memory.
  BOUGH_DEVICE std::int64_t row_number(const mp::EdgeRows& edge) const {
    const std::int64_t node = end == mp::End::row ? edge.number[0] : edge.number[1];
    return end == mp::End::edge ? edge.number[2] : node;
  }
};

/// The features of a message and the elements of a row of results that they go to.
struct MessageFeatures {
  std::int64_t outer = 1, inner = 1;
  std::int64_t width = 1;                        ///< elements of the result
  bool sums_inner = false;                       ///< whether the inner axis is summed up, as in dot products
  const std::int64_t* result_offsets = nullptr;  ///< null if every outer feature has elements of its own, in order

  /// Which features go to an element of the result: found once, because 64-bit divisions are slow.
  struct Element {
    std::int64_t run;          ///< number of the run of the result that it is in
    std::int64_t inner_index;  ///< where in the run; 0 if the inner axis is summed up
  };
  BOUGH_DEVICE Element element(std::int64_t number) const {
    if (sums_inner) return {number, 0};
    const std::int64_t run = number / inner;
    return {run, number - run * inner};
  }

  /// Calls f(outer) for the outer features that go to an element.
  template <typename Context, typename F>
  BOUGH_DEVICE void for_outers_of(Context& context, const Element& element, const F& f) const {
    if (result_offsets == nullptr) return f(element.run);
    const std::int64_t offset = sums_inner ? element.run : element.run * inner;
    for (std::int64_t i = 0; i < outer; ++i) {
      if (context.load(result_offsets + i) == offset) f(i);
    }
  }
};

/// The sum of a message over its inner axis, by all lanes of a warp together.
template <typename T, typename Message, typename Context>
BOUGH_DEVICE T inner_sum(Context& context, const Message& message, const mp::EdgeRows& edge, std::int64_t outer) {
  T sum = 0;
  for (std::int64_t i = context.lane(); i < message.features.inner; i += warp_size) {
    sum += message.at(context, edge, outer, i);
  }
  return warp_sum(context, sum);
}

}  // namespace bough::simt
