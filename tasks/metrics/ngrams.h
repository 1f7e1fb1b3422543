#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bough {

/// N-grams of a sequence of characters, or of words that are numbers; sorted, each as often as it occurs.
using Ngrams = std::vector<std::u32string_view>;

inline Ngrams sorted_ngrams(std::u32string_view sequence, std::size_t order) {
  Ngrams ngrams;
  for (std::size_t at = 0; at + order <= sequence.size(); ++at) ngrams.push_back(sequence.substr(at, order));
  std::ranges::sort(ngrams);
  return ngrams;
}

/// Each as often as in the one that has it more often.
inline Ngrams most_of_both(const Ngrams& one, const Ngrams& other) {
  Ngrams most;
  std::ranges::set_union(one, other, std::back_inserter(most));
  return most;
}

/// How many n-grams both have: each counts as often as in the one that has it less often.
inline std::int64_t num_common(const Ngrams& one, const Ngrams& other) {
  Ngrams common;
  std::ranges::set_intersection(one, other, std::back_inserter(common));
  return std::ssize(common);
}

/// Numbers words in the order in which they come, so that n-grams of words are compared like n-grams of characters. For
/// one segment with its references.
class WordNumbers {
 public:
  std::u32string of(const std::vector<std::u32string_view>& words) {
    std::u32string sequence;
    for (const std::u32string_view word : words) {
      const auto next = static_cast<char32_t>(numbers_.size());
      sequence += numbers_.try_emplace(std::u32string(word), next).first->second;
    }
    return sequence;
  }

 private:
  std::map<std::u32string, char32_t> numbers_;
};

}  // namespace bough
