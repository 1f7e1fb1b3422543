#include "graph/generators/distance_relations.h"

#include <fmt/format.h>

namespace bough {

std::string DistanceRelations::name(std::int64_t relation) {
  if (relation == 0) return "self";
  return fmt::format("{}({})", relation % 2 == 1 ? "left" : "right", (relation + 1) / 2);
}

void DistanceRelations::add_interval(InEdges& in, std::int64_t token, std::int64_t begin, std::int64_t end,
                                     std::int64_t shift) const {
  // Five stretches: far left, left, the token itself, right, far right; each has one relation or a constant step.
  const auto stretch = [&](std::int64_t from, std::int64_t to, std::int32_t relation_of_first, std::int32_t step) {
    in.add_interval(from + shift, to + shift, relation_of_first, step);
  };
  const std::int64_t far_left = token - max_distance;
  const std::int64_t far_right = token + max_distance + 1;
  stretch(begin, std::min(end, far_left), left(max_distance), 0);
  const std::int64_t left_begin = std::max(begin, far_left);
  stretch(left_begin, std::min(end, token), left(token - left_begin), -2);
  stretch(std::max(begin, token), std::min(end, token + 1), first, 0);
  const std::int64_t right_begin = std::max(begin, token + 1);
  stretch(right_begin, std::min(end, far_right), right(right_begin - token), 2);
  stretch(std::max(begin, far_right), end, right(max_distance), 0);
}

}  // namespace bough
