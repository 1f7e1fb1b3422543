#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bough/tasks/vocabulary.h"

namespace bough {

/// Options of WordVocabulary::of.
struct WordVocabularyOptions {
  std::int64_t size = 30'000;  ///< most tokens, the unknown one included
  std::int64_t min_count = 2;  ///< words that the text has less often are unknown
};

/// The words of a text.
///
/// White space is one of the six ASCII characters " \t\n\v\f\r"; a longest run of other bytes is a word, so UTF-8 is
/// never cut. A single space between two words is not a token but part of the second one. All other white space is
/// written out, so that no byte is lost: such a run is one token for each line break in it, the first with what is
/// before its line break, each with what follows up to the next one, or one token if there is no line break. In corpora
/// of one sentence a line, each line thus ends with one token, as with the usual <eos>.
///
/// Token 0, "<unk>", stands for every word that is not in the vocabulary; the others are numbered by falling count,
/// equal ones by their bytes.
class WordVocabulary : public Vocabulary {
 public:
  static constexpr std::int32_t unknown_word = 0;

  /// The most frequent words of a text. ConfigError for a text without words, or
  /// in which none is frequent enough.
  static WordVocabulary of(std::string_view text, const WordVocabularyOptions& options);
  /// From bytes(). IoError if they are no such vocabulary.
  static WordVocabulary from_bytes(std::string bytes);

  std::int64_t size() const override { return static_cast<std::int64_t>(words_.size()); }
  TokenizedText tokenize(std::string_view text) const override;
  std::string text_of(std::int32_t token, std::optional<std::int32_t> before = {}) const override;
  std::int32_t start() const override;
  const std::string& bytes() const override { return bytes_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  /// In the order of their ids, without the unknown one.
  explicit WordVocabulary(const std::vector<std::string>& words);
  bool is_word(std::int32_t token) const;

  std::vector<std::string> words_;  ///< by id
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::string bytes_;
};

/// What it costs to write out the words that a vocabulary does not have, so that bits per character are those of the
/// whole text: each byte, and the end of the word, at its share among the unknown words of the training text, where
/// everything is counted once more than it occurs. Does not depend on the model.
class UnknownWordSpelling {
 public:
  /// `tokenized` is the text cut by the vocabulary.
  UnknownWordSpelling(std::string_view training_text, const TokenizedText& tokenized);

  /// Of the unknown token at that position of a text, in nats.
  double nats(std::string_view text, const TokenizedText& tokenized, std::int64_t position) const;

 private:
  static constexpr std::size_t end_of_word = 256;
  std::array<double, 257> nats_{};
};

}  // namespace bough
