#include "graph/generators/pattern_parts.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

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

void DilatedWindow::add(InEdges& in, std::int64_t token, std::int64_t begin, std::int64_t end,
                        const DistanceRelations& relations) const {
  if (dilation == 1) {
    relations.add_interval(in, token, std::max(begin, token - width), std::min(end, token + width + 1));
    return;
  }
  // The first and last step that stay inside begin .. end-1; division rounds towards zero, so keep operands positive.
  const std::int64_t first =
      token < begin ? (begin - token + dilation - 1) / dilation : -std::min(width, (token - begin) / dilation);
  const std::int64_t last =
      token >= end ? -((token - end) / dilation + 1) : std::min(width, (end - 1 - token) / dilation);
  for (std::int64_t step = std::max(first, -width); step <= last; ++step) {
    in.add(static_cast<std::int32_t>(token + step * dilation), relations.of(step, 0));
  }
}

std::vector<std::int64_t> choose(std::int64_t count, std::int64_t from, RandomStream random) {
  if (count >= from) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(std::max<std::int64_t>(from, 0)));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  // Floyd's way: each step adds one number, the newly allowed one if the drawn one is already there.
  std::vector<std::int64_t> chosen;
  chosen.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t largest = from - count + i;
    std::int64_t number = below(largest + 1, random(static_cast<std::uint64_t>(i)));
    auto place = std::ranges::lower_bound(chosen, number);
    if (place != chosen.end() && *place == number) {
      number = largest;
      place = chosen.end();
    }
    chosen.insert(place, number);
  }
  return chosen;
}

std::vector<std::int32_t> shuffled(std::int64_t count, RandomStream random) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(below(i + 1, random(static_cast<std::uint64_t>(i))))]);
  }
  return order;
}

}  // namespace bough
