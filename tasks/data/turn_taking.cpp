#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <vector>

#include "bough/tasks/corpus.h"

namespace bough {
namespace {

constexpr std::array<std::string_view, 26> words{
    "Ash",   "Bell", "Cloud", "Dawn",  "Ember", "Frost", "Gold", "Hill", "Iron", "Jade", "Kite", "Leaf", "Moon",
    "Night", "Oak",  "Pine",  "Quill", "Rain",  "Star",  "Tree", "Urn",  "Vine", "Wind", "Xyst", "Year", "Zinc"};
constexpr std::uint64_t cast_size = 12;
constexpr std::size_t rest_before_return = 8;

/// splitmix64: small, well known, and the same everywhere.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return ((next() >> 32) * n) >> 32; }

 private:
  std::uint64_t state_;
};

void append_document(SplitMix& random, std::string& text) {
  std::array<std::size_t, words.size()> order;
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::uint64_t i = 0; i < cast_size; ++i) std::swap(order[i], order[i + random.below(words.size() - i)]);
  const std::size_t end = text.size() + 800 + random.below(401);

  std::vector<std::size_t> said;
  while (text.size() < end) {
    const std::size_t recent = said.size() - std::min(said.size(), rest_before_return);
    std::vector<std::size_t> may_come;
    std::copy_if(order.begin(), order.begin() + cast_size, std::back_inserter(may_come), [&](std::size_t word) {
      return std::find(said.begin() + static_cast<std::ptrdiff_t>(recent), said.end(), word) == said.end();
    });
    said.push_back(may_come[random.below(may_come.size())]);
    text += words[said.back()];
    text += ' ';
  }
  text.back() = '\n';
}

}  // namespace

std::string turn_taking_text(std::int64_t characters, std::uint64_t seed) {
  std::string text;
  SplitMix random(seed);
  while (static_cast<std::int64_t>(text.size()) < characters) append_document(random, text);
  return text;
}

}  // namespace bough
