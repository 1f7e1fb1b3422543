#include "tasks/data/tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/core/random.h"

namespace bough {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> cut(std::string_view text) { return Tokenizer().tokens(text); }

TEST(Tokenizer, CutsWordsAndPunctuation) {
  EXPECT_THAT(cut("The Rock is destined, (really) to win!"),
              ElementsAre("the", "rock", "is", "destined", ",", "(", "really", ")", "to", "win", "!"));
  EXPECT_THAT(cut("a_b c/d e@f.org"), ElementsAre("a_b", "c", "/", "d", "e", "@", "f", ".", "org"));
}

TEST(Tokenizer, KeepsHyphensAndNumbersTogether) {
  EXPECT_THAT(cut("A well-known 3.14 of 1,000, or 21st."),
              ElementsAre("a", "well-known", "3.14", "of", "1,000", ",", "or", "21st", "."));
  EXPECT_THAT(cut("one - two -three four- 5-6"), ElementsAre("one", "-", "two", "-", "three", "four", "-", "5-6"));
  EXPECT_THAT(cut("end.Next"), ElementsAre("end", ".", "next"));
}

TEST(Tokenizer, SplitsEnglishContractions) {
  EXPECT_THAT(cut("It's what they don't, can't and I'd've"),
              ElementsAre("it", "'s", "what", "they", "do", "n't", ",", "ca", "n't", "and", "i", "'d", "'ve"));
  EXPECT_THAT(cut("WE'LL isn\u2019t"), ElementsAre("we", "'ll", "is", "n\u2019t"));
  EXPECT_THAT(cut("five o'clock 'great' dogs'"), ElementsAre("five", "o'clock", "'", "great", "'", "dogs", "'"));
}

TEST(Tokenizer, JoinsRunsOfOneSymbol) {
  EXPECT_THAT(cut("well... no -- yes!!! ``so'' ?!"),
              ElementsAre("well", "...", "no", "--", "yes", "!!!", "``", "so", "''", "?", "!"));
}

TEST(Tokenizer, KnowsLettersMarksAndSpacesOfUnicode) {
  EXPECT_THAT(cut("Ça\u00a0coûte ÄRGER\u2003naïve"), ElementsAre("ça", "coûte", "ärger", "naïve"));
  EXPECT_THAT(cut("e\u0301te\u0301"), ElementsAre("e\u0301te\u0301"));  // letters with marks
  EXPECT_THAT(cut("Ελλάδα—Москва"), ElementsAre("ελλάδα", "—", "москва"));
  EXPECT_THAT(cut("我们ok東京タワー"), ElementsAre("我", "们", "ok", "東", "京", "タ", "ワ", "ー"));
  EXPECT_THAT(cut("\U0001F600\U0001F600 x"), ElementsAre("\U0001F600\U0001F600", "x"));
}

TEST(Tokenizer, KeepsTheCaseIfAsked) {
  EXPECT_THAT(Tokenizer({.lower_case = false}).tokens("The ÄRGER DON'T"), ElementsAre("The", "ÄRGER", "DO", "N'T"));
}

TEST(Tokenizer, ReplacesBytesThatAreNoUtf8) {
  EXPECT_THAT(cut("a\xff\xfe b"), ElementsAre("a", "\uFFFD\uFFFD", "b"));
  EXPECT_THAT(cut("\xe2\x82"), ElementsAre("\uFFFD"));  // cut off within a character
  EXPECT_THAT(cut(std::string_view("a\0b", 3)), ElementsAre("a", "b"));
}

TEST(Tokenizer, FindsNothingInSpaces) {
  EXPECT_THAT(cut(""), IsEmpty());
  EXPECT_THAT(cut(" \t\r\n\u2028"), IsEmpty());
}

TEST(Tokenizer, GivesTheSameTokensForItsOwnTokens) {
  const std::string letters = "aN'nt.,-1 s\u2019\u00e9\u6211\"`d_\xff";
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomStream random{seed, 0};
    std::string text;
    for (std::uint64_t i = 0; i < 24; ++i) text += letters[random(i) % letters.size()];
    const std::vector<std::string> once = cut(text);
    ASSERT_EQ(cut(fmt::format("{}", fmt::join(once, " "))), once) << text;
  }
}

}  // namespace
}  // namespace bough
