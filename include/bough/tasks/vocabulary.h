#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bough {

/// A text cut into the tokens of a vocabulary.
struct TokenizedText {
  std::vector<std::int32_t> tokens;        ///< ids, in the order of the text
  std::vector<std::int64_t> ends = {};     ///< where each token ends in the text, in bytes; empty: each is one byte
  std::vector<std::int64_t> unknown = {};  ///< positions of tokens that the vocabulary does not have, ascending
};

/// The tokens that a language model reads and predicts, numbered from 0. Immutable.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  /// Number of different tokens.
  virtual std::int64_t size() const = 0;
  /// Cuts a text. Every byte belongs to exactly one token, and decode() gives the text back unless tokens of it are
  /// unknown. ConfigError for a text that the vocabulary cannot write.
  virtual TokenizedText tokenize(std::string_view text) const = 0;
  /// The bytes that a token adds to a text whose last token is `before`; none: to an empty text. An unknown token gives
  /// "<unk>".
  virtual std::string text_of(std::int32_t token, std::optional<std::int32_t> before = {}) const = 0;
  /// What a text begins after that has no beginning of its own: a line break, where the vocabulary has one.
  virtual std::int32_t start() const = 0;
  /// All that makes the vocabulary, for a file.
  virtual const std::string& bytes() const = 0;

  /// The ids of tokenize().
  std::vector<std::int32_t> encode(std::string_view text) const { return tokenize(text).tokens; }
  /// The texts of the tokens, one after the other.
  std::string decode(std::span<const std::int32_t> tokens) const;

 protected:
  /// Copied and moved as part of what is derived from it.
  Vocabulary() = default;
  Vocabulary(const Vocabulary&) = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(const Vocabulary&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;
};

}  // namespace bough
