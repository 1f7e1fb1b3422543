#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bough {

/// The different bytes of some texts, numbered by value. Any bytes will do; what they encode does not matter.
class CharacterVocabulary {
 public:
  /// ConfigError if there are none.
  explicit CharacterVocabulary(std::string_view bytes);
  /// The bytes that occur in any of the texts.
  static CharacterVocabulary of(const std::vector<std::string_view>& texts);

  /// Number of different bytes.
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  /// Ascending.
  const std::string& bytes() const { return bytes_; }
  char byte(std::int64_t id) const { return bytes_.at(static_cast<std::size_t>(id)); }
  /// ConfigError naming the first byte that is not in the vocabulary.
  std::vector<std::int32_t> encode(std::string_view text) const;

 private:
  std::string bytes_;
  std::array<std::int32_t, 256> ids_{};
};

}  // namespace bough
