#include "bough/tasks/character_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"

namespace bough {

CharacterVocabulary::CharacterVocabulary(std::string_view bytes) {
  if (bytes.empty()) throw ConfigError("vocabulary", "a text without any characters has no vocabulary");
  std::array<bool, 256> seen{};
  for (const char byte : bytes) seen[static_cast<unsigned char>(byte)] = true;
  ids_.fill(-1);
  for (std::size_t value = 0; value < seen.size(); ++value) {
    if (!seen[value]) continue;
    ids_[value] = static_cast<std::int32_t>(bytes_.size());
    bytes_ += static_cast<char>(value);
  }
}

CharacterVocabulary CharacterVocabulary::of(const std::vector<std::string_view>& texts) {
  std::string bytes;
  for (const std::string_view text : texts) {
    if (!text.empty()) bytes += CharacterVocabulary(text).bytes();
  }
  return CharacterVocabulary(bytes);
}

char CharacterVocabulary::byte(std::int64_t id) const {
  if (id < 0 || id >= size()) {
    throw IndexError("vocabulary", fmt::format("there is no character {}, the {} there are count from 0", id, size()));
  }
  return bytes_[static_cast<std::size_t>(id)];
}

TokenizedText CharacterVocabulary::tokenize(std::string_view text) const {
  std::vector<std::int32_t> ids(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    ids[i] = ids_[static_cast<unsigned char>(text[i])];
    if (ids[i] < 0) {
      throw ConfigError("vocabulary", fmt::format("character {} of the text is byte {:#04x}, which the model has never "
                                                  "seen; it knows {} different bytes",
                                                  i, static_cast<unsigned char>(text[i]), bytes_.size()));
    }
  }
  return {.tokens = std::move(ids)};
}

std::string CharacterVocabulary::text_of(std::int32_t token, std::optional<std::int32_t> /*before*/) const {
  return {byte(token)};
}

std::int32_t CharacterVocabulary::start() const { return std::max(ids_['\n'], 0); }

}  // namespace bough
