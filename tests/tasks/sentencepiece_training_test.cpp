#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>

#include "bough/core/errors.h"
#include "bough/tasks/corpus.h"
#include "tasks/data/sentencepiece.h"
#include "tests/support/files.h"

namespace bough {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Names and a few words, with the characters of two languages.
Lines text() {
  Lines lines = lines_of(turn_taking_text(20'000, 1));
  for (int i = 0; i < 20; ++i) lines.emplace_back("Grüße aus dem Süden, über die Straße & zurück.");
  return lines;
}

/// The number in the message that training throws, behind a text.
std::int64_t number_in_error(const Lines& lines, const SentencePieceTraining& options, const std::string& behind) {
  try {
    train_sentencepiece(lines, options);
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    std::smatch found;
    if (std::regex_search(message, found, std::regex(behind + " (\\d+)"))) return std::stoll(found[1]);
    ADD_FAILURE() << message;
  }
  return -1;
}

class SentencePieceTrainingTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_sentencepiece()) GTEST_SKIP() << "built without SentencePiece";
  }
  SentencePieceTraining options(std::int64_t size) const { return {.kind = GetParam(), .size = size}; }
};
using SentencePieceTrainingOfAnyKind = SentencePieceTrainingTest;

TEST_P(SentencePieceTrainingOfAnyKind, GivesAModelOfJustTheSizeThatSegmentsAndJoinsText) {
  const SentencePieceModel model = train_sentencepiece(text(), options(90));
  EXPECT_EQ(model.size(), 90);
  const SpecialPieces special = model.special();
  EXPECT_EQ(special.padding, 0);
  EXPECT_EQ(special.unknown, 1);
  EXPECT_EQ(special.begin, 2);
  EXPECT_EQ(special.end, 3);
  const std::vector<std::int32_t> pieces = model.encode("Grüße an Ash und Bell.");
  EXPECT_THAT(pieces, Each(Ge(4)));
  EXPECT_EQ(model.decode(pieces), "Grüße an Ash und Bell.");
  EXPECT_THAT(model.encode("\u4e2d"), ::testing::Contains(special.unknown));
  EXPECT_EQ(model.decode(std::vector<std::int32_t>{2, pieces[0], 3, 0}), model.decode(std::vector{pieces[0]}));
  EXPECT_EQ(model.decode({}), "");
  EXPECT_EQ(model.encode("").size(), 0u);
  EXPECT_THROW(model.decode(std::vector<std::int32_t>{90}), IndexError);
  EXPECT_THROW(model.decode(std::vector<std::int32_t>{-1}), IndexError);
}

TEST_P(SentencePieceTrainingOfAnyKind, GivesTheSameBytesForTheSameLines) {
  const std::string bytes = train_sentencepiece(text(), options(85)).bytes();
  EXPECT_EQ(train_sentencepiece(text(), options(85)).bytes(), bytes);
  EXPECT_NE(train_sentencepiece(text(), options(86)).bytes(), bytes);
}

TEST_P(SentencePieceTrainingOfAnyKind, NamesTheLargestAndTheSmallestSizeThatThereIs) {
  const std::int64_t largest = number_in_error(text(), options(50'000), "at most");
  ASSERT_GT(largest, 60);
  EXPECT_EQ(train_sentencepiece(text(), options(largest)).size(), largest);
  EXPECT_THROW(train_sentencepiece(text(), options(largest + 1)), ConfigError);
  const std::int64_t smallest = number_in_error(text(), options(5), "at least");
  ASSERT_GT(smallest, 30);
  EXPECT_EQ(train_sentencepiece(text(), options(smallest)).size(), smallest);
  EXPECT_THROW(train_sentencepiece(text(), options(smallest - 1)), ConfigError);
}

TEST_P(SentencePieceTrainingOfAnyKind, RefusesATextWithoutCharacters) {
  for (const Lines& lines : {Lines{}, Lines{""}, Lines{"", "\n"}, Lines{"   ", "\u3000"}, Lines{"\u200b"}}) {
    EXPECT_THROW(train_sentencepiece(lines, options(100)), ConfigError);
    SentencePieceTraining with_bytes = options(400);
    with_bytes.byte_fallback = true;
    EXPECT_THROW(train_sentencepiece(lines, with_bytes), ConfigError);
  }
  EXPECT_EQ(train_sentencepiece(Lines{"a"}, options(6)).size(), 6) << "special pieces, a and the space";
}

TEST_P(SentencePieceTrainingOfAnyKind, TakesAnyBytesAndLinesOfAnyLength) {
  std::string long_line;
  for (int i = 0; i < 3000; ++i) long_line += "longer and longer ";
  const Lines lines{long_line, std::string(20'000, 'x'), std::string("a\0b\tc", 5), "\xff\xfe \xe2\x82",
                    "\u2581 \u2585"};
  const SentencePieceModel model = train_sentencepiece(lines, options(24));
  EXPECT_EQ(model.decode(model.encode("longer and longer")), "longer and longer");
}

TEST_P(SentencePieceTrainingOfAnyKind, JoinsFilesWhetherTheyAreCompressedOrNot) {
  const test::TemporaryFolder folder;
  const Lines lines = text();
  std::string first, second;
  for (std::size_t i = 0; i < lines.size(); ++i) (i < 50 ? first : second) += lines[i] + "\n";
  test::write_file(folder.file("a.txt"), first);
  test::write_file(folder.file("b.txt"), second);
  const std::string bytes = train_sentencepiece(lines, options(85)).bytes();
  EXPECT_EQ(train_sentencepiece_on_files(Lines{folder.file("a.txt"), folder.file("b.txt")}, options(85)).bytes(),
            bytes);
  ASSERT_EQ(std::system(("gzip '" + folder.file("b.txt") + "'").c_str()), 0);
  EXPECT_EQ(train_sentencepiece_on_files(Lines{folder.file("a.txt"), folder.file("b.txt.gz")}, options(85)).bytes(),
            bytes);
  EXPECT_THROW(train_sentencepiece_on_files(Lines{folder.file("c.txt")}, options(85)), IoError);
  EXPECT_THROW(train_sentencepiece_on_files(Lines{}, options(85)), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SentencePieceTrainingOfAnyKind, testing::Values("bpe", "unigram"),
                         [](const auto& one) { return one.param; });

TEST_F(SentencePieceTrainingTest, KeepsSymbolsOfTheUserWhole) {
  const SentencePieceModel model = train_sentencepiece(text(), {.size = 150, .user_symbols = {"<d>", "a,b", "@@"}});
  EXPECT_EQ(model.text_of(4), "<d>");
  EXPECT_EQ(model.text_of(5), "a,b");
  EXPECT_EQ(model.text_of(6), "@@");
  EXPECT_EQ(model.size(), 150);
  EXPECT_EQ(model.decode(model.encode("Ash <d> Bell<d>@@")), "Ash <d> Bell<d>@@");
  EXPECT_THAT(model.encode("Bell<d>"), ::testing::Contains(4));
}

TEST_F(SentencePieceTrainingTest, WritesUnknownCharactersAsBytesIfAsked) {
  const SentencePieceModel model = train_sentencepiece(text(), {.size = 400, .byte_fallback = true});
  const std::vector<std::int32_t> pieces = model.encode("Ash \u4e2d\U0001F600");
  EXPECT_THAT(pieces, Each(::testing::Ne(model.special().unknown)));
  EXPECT_EQ(model.decode(pieces), "Ash \u4e2d\U0001F600");
}

TEST_F(SentencePieceTrainingTest, NormalizesAsAsked) {
  Lines lines = text();
  for (int i = 0; i < 50; ++i) lines.emplace_back("\uff21\uff22\uff0c");  // full-width letters and comma
  const auto through = [&](const SentencePieceTraining& options) {
    const SentencePieceModel model = train_sentencepiece(lines, options);
    return model.decode(model.encode("Ash \uff21"));
  };
  EXPECT_EQ(through({.size = 150}), "Ash A");
  EXPECT_EQ(through({.size = 150, .normalization = "nfkc"}), "Ash A");
  EXPECT_EQ(through({.size = 150, .normalization = "identity"}), "Ash \uff21");
  EXPECT_EQ(through({.size = 150, .lowercase = true}), "ash a");
}

TEST_F(SentencePieceTrainingTest, ReadsLinesFromAllOfATextThatIsTooLong) {
  Lines lines;
  for (int i = 0; i < 500; ++i) lines.emplace_back(i < 250 ? "aaa bbb" : "ccc ddd");
  SentencePieceTraining options{.size = 14, .character_coverage = 1, .most_bytes = 350};
  const SentencePieceModel some = train_sentencepiece(lines, options);
  EXPECT_EQ(some.decode(some.encode("bad cab")), "bad cab") << "characters of both halves";
  const Lines chosen = [&] {
    Lines every_tenth;
    for (std::size_t i = 9; i < lines.size(); i += 10) every_tenth.push_back(lines[i]);
    return every_tenth;
  }();
  EXPECT_EQ(train_sentencepiece(chosen, options).bytes(), some.bytes());
}

TEST_F(SentencePieceTrainingTest, RefusesOptionsThatThereAreNot) {
  const auto refused = [](const SentencePieceTraining& options, const std::string& what) {
    EXPECT_THAT([&] { train_sentencepiece(text(), options); }, ThrowsMessage<ConfigError>(HasSubstr(what)));
  };
  refused({.kind = "word"}, "'word'");
  refused({.size = 0}, "not 0");
  refused({.size = std::int64_t{1} << 40}, "size must be");
  refused({.size = 100, .character_coverage = 0.5}, "0.98");
  refused({.size = 100, .character_coverage = std::nan("")}, "0.98");
  refused({.size = 100, .normalization = "NFC"}, "nmt_nfkc");
  refused({.size = 100, .normalization = "identity", .lowercase = true}, "case");
  for (const char* symbol : {"", " ", "a b", "\"", "<s>", "<pad>"}) {
    EXPECT_THROW(train_sentencepiece(text(), {.size = 100, .user_symbols = {symbol}}), ConfigError) << symbol;
  }
  refused({.size = 100, .user_symbols = {"<d>", "<d>"}}, "'<d>'");
  refused({.size = 100, .most_bytes = 0}, "most_bytes");
}

TEST_F(SentencePieceTrainingTest, ModelsOfLanguageModelsHaveNoEnds) {
  const SpecialPieces special = SentencePieceModel::train(turn_taking_text(20'000, 1), {.size = 400}).special();
  EXPECT_EQ(special.begin, -1);
  EXPECT_EQ(special.end, -1);
  EXPECT_EQ(special.padding, -1);
  EXPECT_GE(special.unknown, 0);
}

}  // namespace
}  // namespace bough
