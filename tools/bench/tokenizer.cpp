#include "tasks/data/tokenizer.h"

#include <fmt/format.h>
#include <unicode/ubrk.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "tools/bench/benchmark.h"

namespace bough::bench {
namespace {

constexpr std::size_t text_bytes = 8'000'000;

/// Frequent words and, among them, what a tokenizer has to look at twice: endings after an apostrophe, hyphens,
/// numbers.
constexpr std::array<std::string_view, 48> english = {
    "the",    "of",      "and",         "to",        "a",       "in",        "is",      "it",
    "that",   "was",     "film",        "this",      "as",      "for",       "with",    "movie",
    "but",    "on",      "are",         "not",       "you",     "his",       "one",     "have",
    "story",  "be",      "all",         "at",        "they",    "who",       "don't",   "it's",
    "wasn't", "they'd",  "actor's",     "well-made", "1,000",   "3.5",       "1980s",   "characters",
    "plot",   "another", "interesting", "really",    "because", "something", "through", "performances"};
/// Two and three bytes a character; a Chinese one is a word.
constexpr std::array<std::string_view, 12> other_scripts = {"\u0438",
                                                            "\u0444\u0438\u043b\u044c\u043c",
                                                            "\u03b7",
                                                            "\u03c4\u03b1\u03b9\u03bd\u03af\u03b1",
                                                            "caf\u00e9",
                                                            "na\u00efve",
                                                            "\u00dcber",
                                                            "\u05d5\u05d4\u05d5\u05d0",
                                                            "\u7535\u5f71",
                                                            "\u6211\u4eec\u90fd\u559c\u6b22",
                                                            "\u6620\u753b\u306f",
                                                            "\u2014"};

/// Sentences of words that are drawn, the first ones more often, with capitals and punctuation.
template <std::size_t count>
std::string sentences(const std::array<std::string_view, count>& words) {
  const RandomStream random{1, 0};
  std::string text;
  for (std::uint64_t draw = 0; text.size() < text_bytes; ++draw) {
    const auto numbers = random.block(draw);
    const double u = uniform_float(numbers[0]);
    std::string word(words[static_cast<std::size_t>(u * u * count)]);
    const bool begins = text.empty() || text.ends_with(". ");
    if (begins && word[0] >= 'a' && word[0] <= 'z') word[0] = static_cast<char>(word[0] - 'a' + 'A');
    text += word;
    const std::uint32_t mark = numbers[1] % 100;
    text += mark < 6 ? ". " : mark < 12 ? ", " : mark < 13 ? " (" : mark < 14 ? "... " : " ";
  }
  return text;
}

/// Word boundaries as Unicode defines them (UAX 29), which are found but not copied, and letters stay as they are.
class IcuWords {
 public:
  IcuWords() : breaks_(open(), ubrk_close) {}

  std::int64_t count(const std::string& text) const {
    UErrorCode error = U_ZERO_ERROR;
    UText utf8 = UTEXT_INITIALIZER;
    utext_openUTF8(&utf8, text.data(), static_cast<std::int64_t>(text.size()), &error);
    ubrk_setUText(breaks_.get(), &utf8, &error);
    if (U_FAILURE(error)) throw Error("tokenizer", fmt::format("ICU says {}", u_errorName(error)));
    std::int64_t words = 0;
    while (ubrk_next(breaks_.get()) != UBRK_DONE) words += ubrk_getRuleStatus(breaks_.get()) != UBRK_WORD_NONE ? 1 : 0;
    utext_close(&utf8);
    return words;
  }

 private:
  static UBreakIterator* open() {
    UErrorCode error = U_ZERO_ERROR;
    UBreakIterator* breaks = ubrk_open(UBRK_WORD, "en", nullptr, 0, &error);
    if (U_FAILURE(error)) throw Error("tokenizer", fmt::format("ICU says {}", u_errorName(error)));
    return breaks;
  }
  std::unique_ptr<UBreakIterator, decltype(&ubrk_close)> breaks_;
};

/// What stands between spaces: less than words, and about as fast as a text can be walked through.
std::int64_t count_between_spaces(const std::string& text) {
  std::int64_t words = 0;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++words) {
    const void* space = std::memchr(at, ' ', static_cast<std::size_t>(end - at));
    at = space == nullptr ? end : static_cast<const char*>(space) + 1;
  }
  return words;
}

struct Case {
  const char* name;
  const std::string& text;
  TokenizerOptions tokenizer;
  const char* peer;
};

/// `peer` gives the number of words that it finds.
void report_case(const Options& options, const Report& report, const Case& c,
                 FunctionRef<std::int64_t(const std::string& text)> peer) {
  if (!selected(options, c.name)) return;
  const Tokenizer tokenizer(c.tokenizer);
  std::int64_t tokens = 0, peer_words = 0;
  const Times times = measure_both(
      options,
      [&] {
        tokens = 0;
        tokenizer.tokenize(c.text, [&tokens](std::string_view) { ++tokens; });
      },
      [&] { peer_words = peer(c.text); });
  const auto megabytes = static_cast<double>(c.text.size()) / 1e6;
  report({.case_name = c.name,
          .milliseconds = times.ours,
          .peer = c.peer,
          .peer_milliseconds = times.peer,
          .note = fmt::format("{:.0f} MB/s", megabytes / times.ours * 1e3),
          .figures = {{"bytes", static_cast<double>(c.text.size())},
                      {"tokens", static_cast<double>(tokens)},
                      {"peer_words", static_cast<double>(peer_words)}}});
}

}  // namespace

void run_tokenizer(const Options& options, const Report& report) {
  const std::string plain = sentences(english), mixed = sentences(other_scripts);
  const IcuWords icu;
  const auto by_icu = [&](const std::string& text) { return icu.count(text); };
  report_case(options, report, {"English", plain, {}, "ICU word breaks"}, by_icu);
  report_case(options, report, {"English, capitals kept", plain, {.lower_case = false}, "ICU word breaks"}, by_icu);
  report_case(options, report, {"English beside spaces alone", plain, {}, "memchr"},
              [](const std::string& text) { return count_between_spaces(text); });
  report_case(options, report, {"many scripts", mixed, {}, "ICU word breaks"}, by_icu);
}

}  // namespace bough::bench
