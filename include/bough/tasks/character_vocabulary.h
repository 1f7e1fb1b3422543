#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bough/tasks/vocabulary.h"

namespace bough {

/// The different bytes of some texts, numbered by value. Any bytes will do; what they encode does not matter.
class CharacterVocabulary : public Vocabulary {
 public:
  /// ConfigError if there are none.
  explicit CharacterVocabulary(std::string_view bytes);
  /// The bytes that occur in any of the texts.
  static CharacterVocabulary of(const std::vector<std::string_view>& texts);

  /// Number of different bytes.
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  /// Ascending.
  const std::string& bytes() const override { return bytes_; }
  /// The byte of that number; IndexError if there is none.
  char byte(std::int64_t id) const;
  /// ConfigError naming the first byte that is not in the vocabulary.
  TokenizedText tokenize(std::string_view text) const override;
  std::string text_of(std::int32_t token, std::optional<std::int32_t> before = {}) const override;
  std::int32_t start() const override;

 private:
  std::string bytes_;
  std::array<std::int32_t, 256> ids_{};
};

}  // namespace bough
