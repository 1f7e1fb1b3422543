#include "bough/tasks/vocabulary.h"

namespace bough {

std::string Vocabulary::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  std::optional<std::int32_t> before;
  for (const std::int32_t token : tokens) {
    text += text_of(token, before);
    before = token;
  }
  return text;
}

}  // namespace bough
