#include "tasks/data/tokenizer.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace bough {
namespace {

/// What a character is to the tokenizer.
enum class CharacterKind : std::uint8_t { space, letter, digit, ideograph, apostrophe, hyphen, other };

CharacterKind kind_of_code_point(UChar32 c) {
  switch (c) {
    case '\'':
    case 0x2019:  // right single quotation mark, as typeset text has apostrophes
      return CharacterKind::apostrophe;
    case '-':
    case 0x2010:  // hyphen
    case 0x2011:  // non-breaking hyphen
      return CharacterKind::hyphen;
    case '_':
      return CharacterKind::letter;
    default:
      break;
  }
  const std::uint32_t category = U_GET_GC_MASK(c);
  if ((category & (U_GC_Z_MASK | U_GC_CC_MASK)) != 0) return CharacterKind::space;
  if ((category & U_GC_N_MASK) != 0) return CharacterKind::digit;
  if ((category & (U_GC_L_MASK | U_GC_M_MASK)) == 0) return CharacterKind::other;
  if (c < 0x2E80) return CharacterKind::letter;  // below every script without spaces that is looked for
  UErrorCode error = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(c, &error);
  return script == USCRIPT_HAN || script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ? CharacterKind::ideograph
                                                                                           : CharacterKind::letter;
}

/// Nearly all characters of most texts: a table instead of ICU's.
std::array<CharacterKind, 128> ascii_kinds() {
  std::array<CharacterKind, 128> kinds{};
  for (UChar32 c = 0; c < 128; ++c) kinds[static_cast<std::size_t>(c)] = kind_of_code_point(c);
  return kinds;
}

/// Of English, after an apostrophe.
constexpr std::array<std::string_view, 6> suffixes = {"s", "re", "ve", "ll", "d", "m"};

struct Character {
  UChar32 code = 0;
  std::size_t begin = 0, end = 0;  ///< its bytes; none at the end of the text
  CharacterKind kind = CharacterKind::space;
};

class Cutter {
 public:
  Cutter(std::string_view text, const TokenizerOptions& options, FunctionRef<void(std::string_view)> on_token)
      : text_(text), options_(options), on_token_(on_token) {}

  void run() {
    for (Character c = at(0); c.end > c.begin;) {
      switch (c.kind) {
        case CharacterKind::space:
          c = at(c.end);
          break;
        case CharacterKind::letter:
        case CharacterKind::digit:
          c = word(c);
          break;
        case CharacterKind::ideograph:
          append(c);
          c = finish(at(c.end));
          break;
        case CharacterKind::apostrophe:
          c = apostrophe(c);
          break;
        default:
          c = symbols(c);
      }
    }
  }

 private:
  Character at(std::size_t begin) const {
    static const std::array<CharacterKind, 128> ascii = ascii_kinds();
    if (begin >= text_.size()) return {.code = 0, .begin = begin, .end = begin};
    const auto byte = static_cast<unsigned char>(text_[begin]);
    if (byte < 128) return {.code = byte, .begin = begin, .end = begin + 1, .kind = ascii[byte]};
    // ICU counts in 32 bits; no character is longer than four bytes.
    std::int32_t bytes = 0;
    UChar32 code = 0;
    const auto* data = reinterpret_cast<const std::uint8_t*>(text_.data() + begin);
    const auto left = static_cast<std::int32_t>(std::min<std::size_t>(text_.size() - begin, 4));
    U8_NEXT_OR_FFFD(data, bytes, left, code);
    return {
        .code = code, .begin = begin, .end = begin + static_cast<std::size_t>(bytes), .kind = kind_of_code_point(code)};
  }

  static bool is_word(const Character& c) { return c.kind == CharacterKind::letter || c.kind == CharacterKind::digit; }

  void append(const Character& c) {
    UChar32 code = c.code;
    if (code < 128) {
      if (options_.lower_case && code >= 'A' && code <= 'Z') code += 'a' - 'A';
      token_ += static_cast<char>(code);
      return;
    }
    if (options_.lower_case) code = u_tolower(code);
    std::array<char, U8_MAX_LENGTH> bytes{};
    std::int32_t length = 0;
    U8_APPEND_UNSAFE(bytes.data(), length, code);
    token_.append(bytes.data(), static_cast<std::size_t>(length));
  }

  /// Ends the token; what comes next is given back.
  Character finish(const Character& next) {
    on_token_(token_);
    token_.clear();
    return next;
  }

  Character word(Character c) {
    Character last = c;
    while (true) {
      const std::size_t run = token_.size();
      for (; is_word(c); c = at(c.end)) {
        append(c);
        last = c;
      }
      const bool is_n_alone = run > 0 && token_.size() == run + 1;  // behind a hyphen, say
      const Character after = at(c.end);
      const bool joins_digits =
          (c.code == '.' || c.code == ',') && last.kind == CharacterKind::digit && after.kind == CharacterKind::digit;
      if (joins_digits || (c.kind == CharacterKind::hyphen && is_word(after))) {
        append(c);
        c = after;
        continue;
      }
      if (c.kind != CharacterKind::apostrophe || after.kind != CharacterKind::letter) return finish(c);
      if (!is_n_alone && is_not_contraction(last, after)) return finish_not(c, after);
      if (is_suffix(after)) return finish(c);
      append(c);  // "o'clock"
      c = after;
    }
  }

  /// The n and the t of "n't", with nothing more of a word behind.
  bool is_not_contraction(const Character& before, const Character& after) const {
    return (before.code | 0x20) == 'n' && (after.code | 0x20) == 't' && !is_word(at(after.end));
  }

  /// The token ends in n, which goes with "'t".
  Character finish_not(const Character& quote, const Character& t) {
    const std::string n = token_.substr(token_.size() - 1);
    token_.pop_back();
    if (!token_.empty()) finish(quote);
    token_ = n;
    append(quote);
    append(t);
    return finish(at(t.end));
  }

  /// Whether one of the endings that English adds after an apostrophe begins here and is all of the word.
  bool is_suffix(Character c) const {
    std::array<char, 3> letters{};
    std::size_t count = 0;
    for (; is_word(c); c = at(c.end)) {
      if (count == 2 || c.code >= 128) return false;
      letters[count++] = static_cast<char>(c.code | 0x20);
    }
    const std::string_view word(letters.data(), count);
    return std::ranges::find(suffixes, word) != suffixes.end();
  }

  Character apostrophe(const Character& quote) {
    Character c = at(quote.end);
    if (!is_suffix(c)) return symbols(quote);
    append(quote);
    for (; is_word(c); c = at(c.end)) append(c);
    return finish(c);
  }

  Character symbols(const Character& first) {
    Character c = first;
    for (; c.end > c.begin && c.code == first.code; c = at(c.end)) append(c);
    return finish(c);
  }

  std::string_view text_;
  const TokenizerOptions& options_;
  FunctionRef<void(std::string_view)> on_token_;
  std::string token_;
};

}  // namespace

void Tokenizer::tokenize(std::string_view text, FunctionRef<void(std::string_view)> on_token) const {
  Cutter(text, options_, on_token).run();
}

std::vector<std::string> Tokenizer::tokens(std::string_view text) const {
  std::vector<std::string> result;
  tokenize(text, [&result](std::string_view token) { result.emplace_back(token); });
  return result;
}

}  // namespace bough
