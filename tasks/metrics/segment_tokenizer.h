#pragma once

#include <string>
#include <string_view>
#include <vector>

/// How segments become words before they are scored. The rules are those of sacreBLEU to the letter, oddities included:
/// scores are worth something only if everyone computes them alike.
namespace bough {

/// The code points of UTF-8, U+FFFD for bytes that are none; in small letters by Unicode's full mapping if asked.
/// ConfigError for a segment of more than a gigabyte.
std::u32string code_points(std::string_view segment, bool lowercase);

/// What separates words: Unicode's white space and the four separators of ASCII below it.
bool separates_words(char32_t c);

/// What stands between white space.
std::vector<std::u32string_view> split_at_white_space(std::u32string_view text);

/// Tokenizes a segment: a text whose words have white space between them.
using SegmentTokenizer = std::u32string (*)(std::u32string_view segment);

/// "13a", "intl", "zh", "char" or "none". ConfigError that lists them for any other name.
SegmentTokenizer segment_tokenizer(std::string_view name);

}  // namespace bough
