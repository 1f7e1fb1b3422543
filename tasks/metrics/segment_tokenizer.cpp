#include "tasks/metrics/segment_tokenizer.h"

#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "bough/core/errors.h"

namespace bough {
namespace {

constexpr std::size_t longest_segment = std::size_t{1} << 30;  // bytes: ICU counts in 32 bits

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_no_digit(char32_t c) { return !is_digit(c); }
bool is_stop(char32_t c) { return c == U'.' || c == U','; }
bool is_dash(char32_t c) { return c == U'-'; }
bool is_any(char32_t) { return true; }

/// The punctuation and symbols of ASCII but for apostrophe, comma, hyphen and full stop.
bool is_mark_of_13a(char32_t c) {
  return (c > U' ' && c <= U'/' && c != U'\'' && c != U',' && c != U'-' && c != U'.') || (c >= U':' && c <= U'@') ||
         (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

bool has_category(char32_t c, std::uint32_t categories) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & categories) != 0;
}
bool is_no_number(char32_t c) { return !has_category(c, U_GC_N_MASK); }
bool is_punctuation(char32_t c) { return has_category(c, U_GC_P_MASK); }
bool is_symbol(char32_t c) { return has_category(c, U_GC_S_MASK); }

/// The blocks that the tokenizer "zh" takes for Chinese. From U+2001 to U+2A6D is a slip of everyone's: Extension B was
/// meant, whose characters (from U+20000 on) are not cut, while dashes, quotation marks and arrows are.
constexpr std::array<std::pair<char32_t, char32_t>, 19> chinese_ranges = {{{0x2001, 0x2A6D},
                                                                           {0x2E80, 0x2EFF},
                                                                           {0x2F00, 0x2FDF},
                                                                           {0x2FF0, 0x2FFF},
                                                                           {0x3000, 0x303F},
                                                                           {0x3100, 0x312F},
                                                                           {0x31A0, 0x31BF},
                                                                           {0x31C0, 0x31EF},
                                                                           {0x3200, 0x32FF},
                                                                           {0x3300, 0x33FF},
                                                                           {0x3400, 0x4DB5},
                                                                           {0x4E00, 0x9FA5},
                                                                           {0x9FA6, 0x9FBB},
                                                                           {0xF900, 0xFA2D},
                                                                           {0xFA30, 0xFA6A},
                                                                           {0xFA70, 0xFAD9},
                                                                           {0xFE10, 0xFE1F},
                                                                           {0xFE30, 0xFE4F},
                                                                           {0xFF00, 0xFFEF}}};
bool is_chinese(char32_t c) {
  return std::ranges::any_of(chinese_ranges, [c](const auto& range) { return c >= range.first && c <= range.second; });
}

std::u32string replaced(std::u32string_view text, std::u32string_view what, std::u32string_view by) {
  std::u32string result;
  std::size_t begin = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, begin)) {
    result.append(text.substr(begin, at - begin)).append(by);
    begin = at + what.size();
  }
  return result.append(text.substr(begin));
}

/// Puts spaces around each character of a kind.
template <typename Kind>
std::u32string set_apart(std::u32string_view text, Kind kind) {
  std::u32string result;
  result.reserve(2 * text.size());
  for (const char32_t c : text) {
    if (kind(c)) {
      result += {U' ', c, U' '};
    } else {
      result += c;
    }
  }
  return result;
}

enum class Apart { first, second };

/// Sets the first or the second of two neighbours apart, whichever is asked for, where both are of their kinds. A
/// character belongs to one such pair at most, the one found first, as in a substitution of a regular expression.
template <typename First, typename Second>
std::u32string set_apart_in_pairs(std::u32string_view text, First first, Second second, Apart apart) {
  std::u32string result;
  result.reserve(2 * text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
      continue;
    }
    if (apart == Apart::first) result += U' ';
    result += {text[i], U' ', text[i + 1]};
    if (apart == Apart::second) result += U' ';
    ++i;
  }
  return result;
}

/// Marks always; full stops and commas unless they stand between digits; dashes behind a digit.
std::u32string set_marks_apart(std::u32string_view text) {
  std::u32string result = set_apart(text, is_mark_of_13a);
  result = set_apart_in_pairs(result, is_no_digit, is_stop, Apart::second);
  result = set_apart_in_pairs(result, is_stop, is_no_digit, Apart::first);
  return set_apart_in_pairs(result, is_digit, is_dash, Apart::second);
}

std::u32string tokenize_13a(std::u32string_view segment) {
  constexpr std::array<std::pair<std::u32string_view, std::u32string_view>, 7> replacements = {{{U"<skipped>", U""},
                                                                                                {U"-\n", U""},
                                                                                                {U"\n", U" "},
                                                                                                {U"&quot;", U"\""},
                                                                                                {U"&amp;", U"&"},
                                                                                                {U"&lt;", U"<"},
                                                                                                {U"&gt;", U">"}}};
  // With a space at both ends a stop there has a neighbour that is no digit.
  std::u32string text = U" " + std::u32string(segment) + U" ";
  for (const auto& [what, by] : replacements) text = replaced(text, what, by);
  return set_marks_apart(text);
}

std::u32string tokenize_intl(std::u32string_view segment) {
  std::u32string text = set_apart_in_pairs(segment, is_no_number, is_punctuation, Apart::second);
  text = set_apart_in_pairs(text, is_punctuation, is_no_number, Apart::first);
  return set_apart(text, is_symbol);
}

std::u32string tokenize_zh(std::u32string_view segment) {
  const std::size_t begin =
      static_cast<std::size_t>(std::ranges::find_if_not(segment, separates_words) - segment.begin());
  return set_marks_apart(set_apart(segment.substr(begin), is_chinese));
}

std::u32string tokenize_char(std::u32string_view segment) { return set_apart(segment, is_any); }

std::u32string tokenize_none(std::u32string_view segment) { return std::u32string(segment); }

constexpr std::array<std::pair<std::string_view, SegmentTokenizer>, 5> tokenizers = {{{"13a", tokenize_13a},
                                                                                      {"intl", tokenize_intl},
                                                                                      {"zh", tokenize_zh},
                                                                                      {"char", tokenize_char},
                                                                                      {"none", tokenize_none}}};

std::u32string lower_case(std::u32string_view text) {
  icu::UnicodeString letters;
  for (const char32_t c : text) letters.append(static_cast<UChar32>(c));
  letters.toLower(icu::Locale::getRoot());
  std::u32string result;
  result.reserve(text.size());
  for (std::int32_t at = 0; at < letters.length(); at = letters.moveIndex32(at, 1)) {
    result += static_cast<char32_t>(letters.char32At(at));
  }
  return result;
}

}  // namespace

std::u32string code_points(std::string_view segment, bool lowercase) {
  if (segment.size() > longest_segment) {
    throw ConfigError("score", fmt::format("a segment has at most {} bytes, one has {}; are the lines those of a text?",
                                           longest_segment, segment.size()));
  }
  std::u32string result;
  result.reserve(segment.size());
  const auto* data = reinterpret_cast<const std::uint8_t*>(segment.data());
  const auto length = static_cast<std::int32_t>(segment.size());
  for (std::int32_t at = 0; at < length;) {
    UChar32 code = 0;
    U8_NEXT_OR_FFFD(data, at, length, code);
    result += static_cast<char32_t>(code);
  }
  return lowercase ? lower_case(result) : result;
}

bool separates_words(char32_t c) {
  if (c < 128) return c == U' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0;
}

std::vector<std::u32string_view> split_at_white_space(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  const auto* at = text.begin();
  while (true) {
    const auto* const begin = std::find_if_not(at, text.end(), separates_words);
    if (begin == text.end()) return words;
    at = std::find_if(begin, text.end(), separates_words);
    words.emplace_back(begin, at);
  }
}

SegmentTokenizer segment_tokenizer(std::string_view name) {
  const auto* const found = std::ranges::find(tokenizers, name, &std::pair<std::string_view, SegmentTokenizer>::first);
  if (found == tokenizers.end()) {
    throw ConfigError("BLEU", fmt::format("there is no tokenizer '{}'; there are 13a, intl, zh, char and none", name));
  }
  return found->second;
}

}  // namespace bough
