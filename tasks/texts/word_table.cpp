#include "tasks/texts/word_table.h"

namespace bough {

WordTable::WordTable(std::span<const std::string> words) {
  for (const std::string& word : words) add(word);
}

std::int32_t WordTable::add(std::string_view word) {
  if (const auto known = numbers_.find(word); known != numbers_.end()) return known->second;
  const auto number = static_cast<std::int32_t>(size());
  words_.emplace_back(word);
  numbers_.emplace(words_.back(), number);
  return number;
}

std::int32_t WordTable::find(std::string_view word) const {
  const auto known = numbers_.find(word);
  return known == numbers_.end() ? unknown : known->second;
}

const std::string& WordTable::text(std::int32_t number) const {
  static const std::string unknown_text = "<unk>", placeholder_text = "<placeholder>";
  if (number == unknown) return unknown_text;
  if (number == placeholder) return placeholder_text;
  return words_.at(static_cast<std::size_t>(number - first_word));
}

std::string WordTable::to_lines() const {
  std::string lines;
  for (const std::string& word : words_) {
    lines += word;
    lines += '\n';
  }
  return lines;
}

WordTable WordTable::from_lines(std::string_view lines) {
  WordTable table;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    table.add(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return table;
}

}  // namespace bough
