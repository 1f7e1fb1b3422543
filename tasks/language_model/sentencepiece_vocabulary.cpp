#include "tasks/language_model/sentencepiece_vocabulary.h"

#include <fmt/format.h>

#include "bough/core/errors.h"

namespace bough {
namespace {

constexpr std::string_view space_mark_character = "\xe2\x96\x81";

/// Bytes of the character of UTF-8 that a text begins with; 0 if it begins with none: broken, overlong, a surrogate or
/// beyond the last one.
std::size_t character_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF ? 2
                             : (first & 0xF0) == 0xE0       ? 3
                             : (first & 0xF8) == 0xF0       ? 4
                                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool no_character = (first == 0xED && byte(1) >= 0xA0) || (first == 0xF4 && byte(1) >= 0x90) || first > 0xF4;
  return overlong || no_character ? 0 : length;
}

/// Bytes at the beginning of a text that the library takes as they are: at most so many that its time stays
/// proportional to the text, and then up to a space, before which pieces end anyway.
std::size_t plain_length(std::string_view text) {
  constexpr std::size_t most = 4096, longest_character = 4;
  const std::string_view first = text.substr(0, most);
  std::size_t at = 0;
  while (at < first.size()) {
    const std::size_t length = character_length(first.substr(at));
    if (length == 0 || first[at] == '\n' || first[at] == '\0' || text.substr(at).starts_with(space_mark_character))
      break;
    at += length;
  }
  if (at + longest_character <= most) return at;
  const std::size_t space = first.rfind(' ', at - 1);
  return space == std::string_view::npos || space == 0 ? at : space;
}

[[noreturn]] void refuse_at(std::int64_t byte) {
  throw ConfigError("sentencepiece",
                    fmt::format("the model changes the text at byte {}, so bits per character would be those of "
                                "another one; train it with --normalization_rule_name=identity "
                                "--remove_extra_whitespaces=false --add_dummy_prefix=false --byte_fallback=true, "
                                "or leave out task.vocabulary.model",
                                byte));
}

}  // namespace

TokenizedText SentencePieceVocabulary::tokenize(std::string_view text) const {
  TokenizedText result;
  std::int64_t end = 0;
  const auto add = [&](std::optional<std::int32_t> piece) {
    const std::string written = piece ? model_.text_of(*piece) : "";
    if (written.empty() || !text.substr(static_cast<std::size_t>(end)).starts_with(written)) refuse_at(end);
    end += std::ssize(written);
    result.tokens.push_back(*piece);
    result.ends.push_back(end);
  };
  while (end < std::ssize(text)) {
    const std::string_view rest = text.substr(static_cast<std::size_t>(end));
    if (const std::size_t plain = plain_length(rest); plain > 0) {
      const std::int64_t plain_end = end + static_cast<std::int64_t>(plain);
      for (const std::int32_t piece : model_.encode(rest.substr(0, plain))) add(piece);
      if (end != plain_end) refuse_at(end);
    } else {
      const std::size_t bytes = rest.starts_with(space_mark_character) ? space_mark_character.size() : 1;
      for (std::size_t i = 0; i < bytes; ++i) add(model_.find(rest.substr(i, 1)));
    }
  }
  return result;
}

std::string SentencePieceVocabulary::text_of(std::int32_t token, std::optional<std::int32_t> /*before*/) const {
  return model_.text_of(token);
}

std::int32_t SentencePieceVocabulary::start() const { return model_.find("\n").value_or(0); }

}  // namespace bough
