#include "tasks/texts/baselines.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tasks/texts/word_table.h"

namespace bough {
namespace {

using Overlap = std::pair<std::int64_t, std::int64_t>;  ///< missing words, tenths that are shared

Overlap overlap_of(const EncodedTexts& texts, std::int64_t text) {
  constexpr std::int64_t most_missing = 5, tenths = 10;
  const auto first = texts.sequence(2 * text), second = texts.sequence(2 * text + 1);
  const auto is_shared = [&](std::int32_t word) {
    return word != WordTable::unknown && std::ranges::find(first, word) != first.end();
  };
  const std::int64_t shared = std::ranges::count_if(second, is_shared), all = std::ssize(second);
  return {std::min(most_missing, all - shared), tenths * shared / std::max<std::int64_t>(1, all)};
}

std::int32_t most_frequent(const std::vector<std::int64_t>& counts) {
  return static_cast<std::int32_t>(std::ranges::max_element(counts) - counts.begin());
}

}  // namespace

double majority_accuracy(std::span<const std::int32_t> train, std::span<const std::int32_t> test,
                         std::int64_t classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes));
  for (const std::int32_t label : train) ++counts[static_cast<std::size_t>(label)];
  const auto right = std::ranges::count(test, most_frequent(counts));
  return test.empty() ? 0 : static_cast<double>(right) / static_cast<double>(test.size());
}

double overlap_accuracy(const EncodedTexts& train, const EncodedTexts& test, std::int64_t classes) {
  std::map<Overlap, std::vector<std::int64_t>> counts;
  std::vector<std::int64_t> all(static_cast<std::size_t>(classes));
  for (std::int64_t text = 0; text < train.num_texts(); ++text) {
    const auto label = static_cast<std::size_t>(train.labels[static_cast<std::size_t>(text)]);
    auto& of_overlap = counts[overlap_of(train, text)];
    of_overlap.resize(all.size());
    ++of_overlap[label];
    ++all[label];
  }
  std::int64_t right = 0;
  for (std::int64_t text = 0; text < test.num_texts(); ++text) {
    const auto known = counts.find(overlap_of(test, text));
    const std::int32_t predicted = most_frequent(known == counts.end() ? all : known->second);
    right += predicted == test.labels[static_cast<std::size_t>(text)] ? 1 : 0;
  }
  return test.num_texts() == 0 ? 0 : static_cast<double>(right) / static_cast<double>(test.num_texts());
}

}  // namespace bough
