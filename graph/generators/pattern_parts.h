#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bough/core/random.h"
#include "bough/graph/attention_graph_builder.h"

/// What several patterns are made of: relations by distance, windows with gaps, random choices.
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

/// A random number from 0 to count-1, for count below 2^31. This and the choices below are integer arithmetic on Philox
/// numbers: the same on every machine.
constexpr std::int64_t below(std::int64_t count, std::uint32_t bits) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(bits) * static_cast<std::uint64_t>(count)) >> 32);
}

/// `count` different numbers from 0 to from-1, ascending; all of them if count >= from. O(count^2), meant for few.
std::vector<std::int64_t> choose(std::int64_t count, std::int64_t from, RandomStream random);

/// 0 .. count-1 in random order.
std::vector<std::int32_t> shuffled(std::int64_t count, RandomStream random);

}  // namespace bough
