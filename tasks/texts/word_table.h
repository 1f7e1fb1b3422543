#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bough {

/// The words that a classifier knows, numbered in the order in which they were added. Two numbers stand for no word.
class WordTable {
 public:
  static constexpr std::int32_t unknown = 0;      ///< any other word
  static constexpr std::int32_t placeholder = 1;  ///< a position without a word, whose embedding is zero
  static constexpr std::int32_t first_word = 2;

  WordTable() = default;
  /// From words without a line break, each of which occurs once.
  explicit WordTable(std::span<const std::string> words);

  /// Adds the word unless it is there. Returns its number.
  std::int32_t add(std::string_view word);
  /// `unknown` for a word that is not there.
  std::int32_t find(std::string_view word) const;
  /// Of all numbers.
  std::int64_t size() const { return first_word + std::ssize(words_); }
  /// By number, the first being first_word.
  const std::vector<std::string>& words() const { return words_; }
  /// The word of a number; "<unk>" and "<placeholder>" for the two that stand for none.
  const std::string& text(std::int32_t number) const;

  /// One word a line, for checkpoints, and back.
  std::string to_lines() const;
  static WordTable from_lines(std::string_view lines);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace bough
