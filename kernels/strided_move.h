#pragma once

#include <array>
#include <cstdint>

#include "bough/core/shape.h"

namespace bough {

/// How elements move from one array to another: for every position p of `extents`, the element at sum(p *
/// source_strides) goes to sum(p * target_strides). Strides are in elements; a source stride of 0 repeats. Target
/// elements are written once: target strides lie apart.
struct StridedMove {
  int rank = 0;
  std::array<std::int64_t, Shape::max_rank> extents{}, source_strides{}, target_strides{};

  void add_axis(std::int64_t extent, std::int64_t source_stride, std::int64_t target_stride) {
    extents[rank] = extent;
    source_strides[rank] = source_stride;
    target_strides[rank++] = target_stride;
  }
  std::int64_t elements() const {
    std::int64_t count = 1;
    for (int axis = 0; axis < rank; ++axis) count *= extents[axis];
    return count;
  }
};

/// The same move with as few axes as possible: without those of extent 1, and neighbours that both sides walk through
/// in one go as one.
inline StridedMove merged_axes(const StridedMove& move) {
  StridedMove merged;
  for (int axis = 0; axis < move.rank; ++axis) {
    const std::int64_t extent = move.extents[axis];
    if (extent == 1) continue;
    const int last = merged.rank - 1;
    if (last >= 0 && merged.source_strides[last] == move.source_strides[axis] * extent &&
        merged.target_strides[last] == move.target_strides[axis] * extent) {
      merged.extents[last] *= extent;
      merged.source_strides[last] = move.source_strides[axis];
      merged.target_strides[last] = move.target_strides[axis];
    } else {
      merged.add_axis(extent, move.source_strides[axis], move.target_strides[axis]);
    }
  }
  return merged;
}

}  // namespace bough
