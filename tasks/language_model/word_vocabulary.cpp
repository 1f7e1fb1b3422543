#include "tasks/language_model/word_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bough/core/errors.h"

namespace bough {
namespace {

bool is_white_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Calls visit(begin, end) for each token; the space between two words lies between one's end and the next one's begin.
void for_each_word(std::string_view text, const std::function<void(std::size_t, std::size_t)>& visit) {
  const auto run_end = [text](std::size_t at, bool white_space) {
    while (at < text.size() && is_white_space(text[at]) == white_space) ++at;
    return at;
  };
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_white_space(text[at])) {
      const std::size_t end = run_end(at, false);
      visit(at, end);
      at = end;
      if (at + 1 < text.size() && text[at] == ' ' && !is_white_space(text[at + 1])) ++at;
      continue;
    }
    const std::size_t end = run_end(at, true);
    const std::string_view run = text.substr(0, end);  // so that a search ends where the white space does
    std::size_t line_break = std::min(run.find('\n', at), end);
    while (at < end) {
      const std::size_t next = line_break < end ? std::min(run.find('\n', line_break + 1), end) : end;
      visit(at, next);
      at = line_break = next;
    }
  }
}

/// The token at a position, without the space before a word.
std::string_view word_at(std::string_view text, const TokenizedText& tokenized, std::int64_t position) {
  const auto index = static_cast<std::size_t>(position);
  const auto begin = static_cast<std::size_t>(index == 0 ? 0 : tokenized.ends[index - 1]);
  std::string_view word = text.substr(begin, static_cast<std::size_t>(tokenized.ends[index]) - begin);
  if (word.size() > 1 && word[0] == ' ' && !is_white_space(word[1])) word.remove_prefix(1);
  return word;
}

}  // namespace

WordVocabulary::WordVocabulary(const std::vector<std::string>& words) : words_{"<unk>"} {
  for (const std::string& word : words) {
    if (word.empty() || !ids_.emplace(word, static_cast<std::int32_t>(words_.size())).second) {
      throw IoError("vocabulary", fmt::format("word {} of the vocabulary is empty or there twice", words_.size()));
    }
    words_.push_back(word);
    bytes_ += fmt::format("{}:{}", word.size(), word);
  }
}

WordVocabulary WordVocabulary::of(std::string_view text, const WordVocabularyOptions& options) {
  std::unordered_map<std::string_view, std::int64_t> counts;
  for_each_word(text, [&](std::size_t begin, std::size_t end) { ++counts[text.substr(begin, end - begin)]; });
  if (counts.empty()) throw ConfigError("vocabulary", "a text without any words has no vocabulary");
  std::vector<std::pair<std::int64_t, std::string_view>> sorted;
  for (const auto& [word, count] : counts) {
    if (count >= options.min_count) sorted.emplace_back(-count, word);
  }
  std::ranges::sort(sorted);
  std::vector<std::string> words;
  for (const auto& [count, word] : sorted) {
    if (static_cast<std::int64_t>(words.size()) + 1 == options.size) break;
    words.emplace_back(word);
  }
  if (words.empty()) {
    throw ConfigError("vocabulary", fmt::format("none of the {} words of the text occurs {} times; set "
                                                "task.vocabulary.min_count to 1 or use a longer text",
                                                counts.size(), options.min_count));
  }
  return WordVocabulary(words);
}

WordVocabulary WordVocabulary::from_bytes(std::string bytes) {
  std::vector<std::string> words;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at != end) {
    std::size_t size = 0;
    const auto read = std::from_chars(at, end, size);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != ':' ||
        size > static_cast<std::size_t>(end - read.ptr - 1)) {
      throw IoError("vocabulary", fmt::format("the list of words is damaged after {} of them", words.size()));
    }
    words.emplace_back(read.ptr + 1, size);
    at = read.ptr + 1 + size;
  }
  return WordVocabulary(words);
}

TokenizedText WordVocabulary::tokenize(std::string_view text) const {
  TokenizedText result;
  for_each_word(text, [&](std::size_t begin, std::size_t end) {
    const auto found = ids_.find(text.substr(begin, end - begin));
    if (found == ids_.end()) result.unknown.push_back(std::ssize(result.tokens));
    result.tokens.push_back(found == ids_.end() ? unknown_word : found->second);
    result.ends.push_back(static_cast<std::int64_t>(end));
  });
  return result;
}

bool WordVocabulary::is_word(std::int32_t token) const {
  return !is_white_space(words_.at(static_cast<std::size_t>(token)).front());
}

std::string WordVocabulary::text_of(std::int32_t token, std::optional<std::int32_t> before) const {
  const std::string& word = words_.at(static_cast<std::size_t>(token));
  return is_word(token) && before && is_word(*before) ? " " + word : word;
}

std::int32_t WordVocabulary::start() const {
  const auto line_break = ids_.find(std::string_view("\n"));
  return line_break != ids_.end() ? line_break->second
                                  : static_cast<std::int32_t>(std::min<std::int64_t>(1, size() - 1));
}

UnknownWordSpelling::UnknownWordSpelling(std::string_view training_text, const TokenizedText& tokenized) {
  std::array<double, 257> counts;
  counts.fill(1);
  for (const std::int64_t position : tokenized.unknown) {
    for (const char byte : word_at(training_text, tokenized, position)) ++counts[static_cast<unsigned char>(byte)];
    ++counts[end_of_word];
  }
  double total = 0;
  for (const double count : counts) total += count;
  for (std::size_t i = 0; i < counts.size(); ++i) nats_[i] = std::log(total / counts[i]);
}

double UnknownWordSpelling::nats(std::string_view text, const TokenizedText& tokenized, std::int64_t position) const {
  double sum = nats_[end_of_word];
  for (const char byte : word_at(text, tokenized, position)) sum += nats_[static_cast<unsigned char>(byte)];
  return sum;
}

}  // namespace bough
