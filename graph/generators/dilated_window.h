#pragma once

#include <cstdint>

#include "graph/generators/distance_relations.h"

namespace bough {

/// Every `dilation`-th token, up to `width` of them on each side. Relations count steps, not tokens.
struct DilatedWindow {
  std::int64_t width = 0;
  std::int64_t dilation = 1;

  /// Most steps on one side in a sequence of that length.
  std::int64_t steps(std::int64_t length) const { return std::min(width, (length - 1) / dilation); }

  /// The tokens of the window around `token` among begin .. end-1, ascending.
  void add(InEdges& in, std::int64_t token, std::int64_t begin, std::int64_t end,
           const DistanceRelations& relations) const;
};

}  // namespace bough
