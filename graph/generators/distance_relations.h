#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "bough/graph/attention_graph_builder.h"

namespace bough {

/// Relations that say how far a source lies from the token, and on which side: "self" is 0, then left and right take
/// turns, so that ids do not depend on the length: left(1) = 1, right(1) = 2, left(2) = 3, ... Beyond max_distance all
/// are as if they were at max_distance; max_distance 0 makes all of them "self".
struct DistanceRelations {
  std::int64_t max_distance = 0;
  std::int32_t first = 0;  ///< id of "self"

  std::int64_t count() const { return 2 * max_distance + 1; }
  static std::string name(std::int64_t relation);

  std::int32_t left(std::int64_t distance) const {
    return first + static_cast<std::int32_t>(std::max<std::int64_t>(0, 2 * std::min(distance, max_distance) - 1));
  }
  std::int32_t right(std::int64_t distance) const {
    return first + static_cast<std::int32_t>(2 * std::min(distance, max_distance));
  }
  std::int32_t of(std::int64_t source, std::int64_t token) const {
    return source < token ? left(token - source) : right(source - token);
  }

  /// Sources begin .. end-1 around or beside `token`, where source s is node s + shift.
  void add_interval(InEdges& in, std::int64_t token, std::int64_t begin, std::int64_t end,
                    std::int64_t shift = 0) const;
};

}  // namespace bough
