#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "bough/core/shape.h"

namespace bough {

/// How N operands are read while their broadcast result is written from front to back.
///
/// Axes of extent 1 are gone and neighbours that every operand walks through in one go are merged, so the last axis is
/// as long as it can be. Strides count elements; 0 repeats. On the last axis they are 0 or 1.
template <int N>
struct BroadcastLayout {
  int rank = 1;  ///< at least 1
  std::int64_t elements = 0;
  std::array<std::int64_t, Shape::max_rank> extents{1};
  std::array<std::array<std::int64_t, Shape::max_rank>, N> strides{};

  std::int64_t inner() const { return extents[rank - 1]; }
};

/// The operands' shapes must broadcast to that of the result.
template <int N>
BroadcastLayout<N> broadcast_layout(const Shape& result, const std::array<Shape, N>& operands) {
  BroadcastLayout<N> layout;
  layout.elements = result.elements();
  layout.rank = 0;
  std::array<std::int64_t, N> next;  // the stride of the axis at hand, for operands that have it
  next.fill(1);
  // From the last axis to the first, into reversed order.
  for (int axis = 1; axis <= result.rank(); ++axis) {
    const std::int64_t extent = result[-axis];
    if (extent == 1) continue;
    std::array<std::int64_t, N> stride;
    for (int i = 0; i < N; ++i) {
      const std::int64_t own = axis <= operands[i].rank() ? operands[i][-axis] : 1;
      stride[i] = own == 1 ? 0 : next[i];
      next[i] *= own;
    }
    const int last = layout.rank - 1;
    const bool merges = last >= 0 && [&] {
      for (int i = 0; i < N; ++i) {
        if (stride[i] != layout.strides[i][last] * layout.extents[last]) return false;
      }
      return true;
    }();
    if (merges) {
      layout.extents[last] *= extent;
      continue;
    }
    layout.extents[layout.rank] = extent;
    for (int i = 0; i < N; ++i) layout.strides[i][layout.rank] = stride[i];
    ++layout.rank;
  }
  if (layout.rank == 0) {  // one element: nothing to walk
    layout.rank = 1;
    layout.extents[0] = 1;
    return layout;
  }
  std::reverse(layout.extents.begin(), layout.extents.begin() + layout.rank);
  for (auto& strides : layout.strides) std::reverse(strides.begin(), strides.begin() + layout.rank);
  return layout;
}

/// Calls run(position, length, offsets) for each stretch of the last axis within [begin, end) of the result, in order;
/// offsets[i] is where operand i starts.
template <int N, typename Run>
void for_each_run(const BroadcastLayout<N>& layout, std::int64_t begin, std::int64_t end, Run&& run) {
  if (begin >= end) return;
  std::array<std::int64_t, Shape::max_rank> index{};
  std::array<std::int64_t, N> offsets{};
  std::int64_t rest = begin;
  for (int axis = layout.rank - 1; axis >= 0; --axis) {
    index[axis] = rest % layout.extents[axis];
    rest /= layout.extents[axis];
    for (int i = 0; i < N; ++i) offsets[i] += index[axis] * layout.strides[i][axis];
  }
  const int last = layout.rank - 1;
  for (std::int64_t position = begin; position < end;) {
    const std::int64_t length = std::min(layout.extents[last] - index[last], end - position);
    run(position, length, offsets);
    position += length;
    for (int i = 0; i < N; ++i) offsets[i] -= index[last] * layout.strides[i][last];
    index[last] = 0;
    for (int axis = last - 1; axis >= 0; --axis) {
      for (int i = 0; i < N; ++i) offsets[i] += layout.strides[i][axis];
      if (++index[axis] < layout.extents[axis]) break;
      for (int i = 0; i < N; ++i) offsets[i] -= layout.extents[axis] * layout.strides[i][axis];
      index[axis] = 0;
    }
  }
}

}  // namespace bough
