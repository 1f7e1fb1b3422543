#pragma once

#include <array>
#include <cstdint>

#include "bough/core/shape.h"
#include "kernels/on_device.h"

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
};

/// Runs in parallel: whole runs where both sides have them, tiles that fit the first-level cache where source and
/// target run along different axes. Every element type.
template <typename T>
void strided_copy(Cpu, const StridedMove& move, const T* source, T* target);

}  // namespace bough
