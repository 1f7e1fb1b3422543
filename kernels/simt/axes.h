#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"

namespace bough::simt {

/// Calls f(axis, position along it) for the place of element i among `extents`.
template <typename Extents, typename F>
BOUGH_DEVICE void for_each_axis(int rank, const Extents& extents, std::int64_t i, const F& f) {
  for (int axis = rank - 1; axis >= 0; --axis) {
    const std::int64_t rest = i / extents[axis];
    f(axis, i - rest * extents[axis]);
    i = rest;
  }
}

}  // namespace bough::simt
