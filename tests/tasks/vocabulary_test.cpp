#include "bough/tasks/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/nn/checkpoint.h"
#include "bough/tasks/corpus.h"
#include "tasks/language_model/sentencepiece_vocabulary.h"
#include "tasks/language_model/tokenized_corpus.h"
#include "tasks/language_model/word_vocabulary.h"
#include "tests/support/files.h"

namespace bough {
namespace {

using ::testing::ElementsAre;
using namespace std::string_literals;
using ::testing::HasSubstr;

/// What each token stands for in the text.
std::vector<std::string> pieces_of(const Vocabulary& vocabulary, const std::string& text) {
  const TokenizedText tokenized = vocabulary.tokenize(text);
  std::vector<std::string> pieces;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < tokenized.tokens.size(); ++i) {
    const std::int64_t end = tokenized.ends.empty() ? begin + 1 : tokenized.ends[i];
    pieces.push_back(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    begin = end;
  }
  EXPECT_EQ(begin, std::ssize(text));
  return pieces;
}

const std::string odd_text = "\n\n x\t\xc3\xa9  y \n\r\n\xff\0\xe2\x96\x81 z \xe2\x82 \xf0\x9f\x8c\xb3  "s;

Settings task_settings(nlohmann::json given) { return ParameterTable(token_parameters()).read("task", given); }

TEST(WordVocabulary, CutsAtWhiteSpaceAndKeepsEveryByte) {
  const WordVocabulary words = WordVocabulary::of("a b", {.min_count = 1});
  EXPECT_THAT(pieces_of(words, "one two\nthree"), ElementsAre("one", " two", "\n", "three"));
  EXPECT_THAT(pieces_of(words, " = A = \n \n b \n"), ElementsAre(" ", "=", " A", " =", " \n ", "\n ", "b", " \n"))
      << "one token a line break";
  EXPECT_THAT(pieces_of(words, "a  b \t c"), ElementsAre("a", "  ", "b", " \t ", "c"));
  EXPECT_THAT(pieces_of(words, "\xc3\xa9t\xc3\xa9 \xe2\x80\x83x"), ElementsAre("\xc3\xa9t\xc3\xa9", " \xe2\x80\x83x"))
      << "only ASCII white space, so UTF-8 stays whole";
  EXPECT_THAT(pieces_of(words, ""), ElementsAre());
}

TEST(WordVocabulary, GivesATextBackFromItsTokens) {
  for (const std::string& text : {std::string("a b"), std::string(" a  b\n"), std::string("a \n\n b \n"), odd_text}) {
    const WordVocabulary words = WordVocabulary::of(text, {.min_count = 1});
    EXPECT_EQ(words.decode(words.encode(text)), text);
    EXPECT_TRUE(words.tokenize(text).unknown.empty());
  }
}

TEST(WordVocabulary, NumbersWordsByCountAndBoundsThem) {
  const std::string text = "b a b c c b\nx y\n";
  const WordVocabulary all = WordVocabulary::of(text, {.min_count = 1});
  EXPECT_EQ(all.size(), 7);
  EXPECT_EQ(all.encode("b \nc a x y z"), (std::vector<std::int32_t>{1, 0, 3, 4, 5, 6, 0}))
      << "equal counts by their bytes; ' \\n' and 'z' are not in the text";
  EXPECT_EQ(all.tokenize("b f g a").unknown, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(all.decode(all.encode("b f\na")), "b <unk>\na");
  EXPECT_EQ(WordVocabulary::of(text, {.size = 3, .min_count = 1}).size(), 3);
  EXPECT_EQ(WordVocabulary::of(text, {.min_count = 2}).size(), 4) << "unknown, b, line break, c";
  EXPECT_EQ(all.start(), all.encode("\n").front());
  EXPECT_THROW(WordVocabulary::of("", {}), ConfigError);
  EXPECT_THROW(WordVocabulary::of("a b c", {.min_count = 2}), ConfigError);
}

TEST(WordVocabulary, ComesBackFromItsBytesAndRefusesOthers) {
  const WordVocabulary words = WordVocabulary::of(odd_text + " 3:a 1 :", {.min_count = 1});
  const WordVocabulary again = WordVocabulary::from_bytes(words.bytes());
  EXPECT_EQ(again.size(), words.size());
  EXPECT_EQ(again.encode(odd_text), words.encode(odd_text));
  for (const char* damaged : {"3:ab", "x", "1:a1:a", "0:", "99999999999999999999:a", "-1:a", "1"}) {
    EXPECT_THROW(WordVocabulary::from_bytes(damaged), IoError) << damaged;
  }
}

TEST(UnknownWordSpelling, IsTheCostOfBytesAmongTheUnknownWordsOfTheTrainingText) {
  // "ab" and "b" are unknown: a once, b twice, two ends; everything once more than it occurs.
  const std::string train = "x x ab b x";
  const WordVocabulary words = WordVocabulary::of(train, {.min_count = 2});
  const UnknownWordSpelling spelling(train, words.tokenize(train));
  const std::string text = "x ba";
  const double total = 257 + 5;
  EXPECT_NEAR(spelling.nats(text, words.tokenize(text), 1),
              std::log(total / 3) + std::log(total / 2) + std::log(total / 3), 1e-12);
}

TEST(ScoredText, CountsBytesTokensAndTheSpellingOfUnknownWords) {
  const TextSplits splits{.train = "a b a b\na b\n", .valid = "a cc b\na b", .test = "a b\n"};
  const TokenizedCorpus corpus = tokenize_corpus(task_settings({{"tokens", "words"}}), splits, {}, "");
  // Tokens of the validation text: a, cc, b, line break, a, b in 10 bytes. The first is not scored.
  const double nats = 7, spelling = 3 * std::log(257.0);  // nothing is known of unknown words: two bytes and the end
  const nlohmann::json metrics = corpus.valid.metrics(1, nats);
  EXPECT_NEAR(metrics["bpc"].get<double>(), (nats + spelling) / std::log(2) / 9, 1e-12);
  EXPECT_NEAR(metrics["perplexity"].get<double>(), std::exp(nats / 5), 1e-12);
  EXPECT_NEAR(metrics["unknown"].get<double>(), 1.0 / 5, 1e-15);
  EXPECT_NEAR(metrics["spelling_bpc"].get<double>(), spelling / std::log(2) / 9, 1e-12);
  EXPECT_NEAR(corpus.valid.metrics(2, nats)["bpc"].get<double>(), nats / std::log(2) / 6, 1e-12) << "after cc";
  EXPECT_EQ(corpus.test.metrics(1, nats)["unknown"], 0);

  const TokenizedCorpus characters = tokenize_corpus(task_settings(nlohmann::json::object()), splits, {}, "");
  EXPECT_EQ(characters.valid.metrics(1, nats),
            nlohmann::json({{"bpc", nats / std::log(2) / 9}, {"perplexity", std::exp(nats / 9)}}));
}

TEST(TokenParameters, RefuseWhatDoesNotGoTogether) {
  const auto error_of = [](const nlohmann::json& given) -> std::string {
    try {
      check_tokens(task_settings(given));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(nlohmann::json::object()), "");
  EXPECT_EQ(error_of({{"tokens", "words"}, {"vocabulary", {{"size", 100}}}}), "");
  EXPECT_THAT(error_of({{"vocabulary", {{"size", 100}}}}), HasSubstr("for words and sentencepiece"));
  EXPECT_THAT(error_of({{"tokens", "words"}, {"vocabulary", {{"model", "m"}}}}), HasSubstr("not \"words\""));
  EXPECT_THROW(task_settings({{"tokens", "word"}}), ConfigError);
}

class SentencePiece : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_sentencepiece()) GTEST_SKIP() << "built without SentencePiece";
  }
  static SentencePieceModel model(const char* kind) {
    return SentencePieceModel::train(turn_taking_text(20'000, 1), {.kind = kind, .size = 500});
  }
};

TEST_P(SentencePiece, TrainsTheSameModelEachTimeAndGivesAnyBytesBack) {
  const SentencePieceModel trained = model(GetParam());
  EXPECT_LE(trained.size(), 500);
  EXPECT_GT(trained.size(), 257);
  EXPECT_EQ(trained.bytes(), model(GetParam()).bytes());
  const SentencePieceVocabulary vocabulary(trained);
  for (const std::string& text : {turn_taking_text(3'000, 2), odd_text, std::string(), std::string(10'000, 'Q'),
                                  std::string(9'000, ' '), odd_text + turn_taking_text(9'000, 3)}) {
    EXPECT_EQ(vocabulary.decode(vocabulary.encode(text)), text);
    pieces_of(vocabulary, text);
  }
  EXPECT_LT(vocabulary.encode(turn_taking_text(3'000, 2)).size(), 2'000u) << "pieces are longer than a character";
  EXPECT_EQ(vocabulary.text_of(vocabulary.start()), "\n");
  EXPECT_EQ(SentencePieceModel::from_bytes(trained.bytes(), "").encode("Ash Bell"), trained.encode("Ash Bell"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SentencePiece, testing::Values("bpe", "unigram"),
                         [](const auto& one) { return one.param; });

TEST_F(SentencePiece, SaysWhyAModelCannotBeTrainedOrRead) {
  EXPECT_THROW(SentencePieceModel::train("", {}), ConfigError);
  EXPECT_THROW(SentencePieceModel::train("\n\n", {}), ConfigError);
  EXPECT_THROW(SentencePieceModel::train("some words", {.size = 100}), ConfigError) << "fewer than the bytes";
  EXPECT_THROW(SentencePieceModel::train("some words", {.kind = "other"}), ConfigError);
  EXPECT_THROW(SentencePieceModel::from_bytes("rubbish", "it"), IoError);
  EXPECT_THROW(SentencePieceModel::from_bytes("", "it"), IoError);
  const std::string bytes = model("bpe").bytes();
  EXPECT_THROW(SentencePieceModel::from_bytes(bytes.substr(0, bytes.size() / 2), "it"), IoError);
}

TEST_F(SentencePiece, IsTakenFromTheCheckpointOrAFileInsteadOfBeingTrained) {
  const test::TemporaryFolder folder;
  const SentencePieceModel given = model("unigram");
  test::write_file(folder.file("my.model"), given.bytes());
  const TextSplits splits{.train = "Ash Bell Cloud", .valid = "Ash", .test = "Bell"};
  const Settings task = task_settings({{"tokens", "sentencepiece"}, {"vocabulary", {{"model", "my.model"}}}});
  EXPECT_EQ(tokenize_corpus(task, splits, {folder.file("")}, "").vocabulary->bytes(), given.bytes());
  EXPECT_THROW(tokenize_corpus(task, splits, {}, ""), IoError);
  nn::save_tensors(folder.file("checkpoint"),
                   {.tensors = {}, .metadata = {{vocabulary_note, vocabulary_text(SentencePieceVocabulary(given))}}});
  const Settings trained = task_settings({{"tokens", "sentencepiece"}, {"vocabulary", {{"size", 300}}}});
  EXPECT_EQ(tokenize_corpus(trained, splits, {}, folder.file("checkpoint")).vocabulary->bytes(), given.bytes())
      << "a run goes on with the model that it began with";
  EXPECT_NE(tokenize_corpus(trained, splits, {}, "").vocabulary->bytes(), given.bytes());
  EXPECT_EQ(read_vocabulary(task, vocabulary_text(SentencePieceVocabulary(given)))->bytes(), given.bytes());
}

}  // namespace
}  // namespace bough
