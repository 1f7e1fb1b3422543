#include "graph/generators/random_choice.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bough {

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
