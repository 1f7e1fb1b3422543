#include "bough/tasks/translation_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "bough/core/errors.h"
#include "bough/core/version.h"
#include "tasks/metrics/segment_tokenizer.h"
#include "tests/support/fixtures.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Lines = std::vector<std::string>;

/// A part of what sacreBLEU has computed.
json fixture(const char* part) { return test::read_fixture("sacrebleu_scores.json").at(part); }

BleuOptions bleu_options(const json& given) {
  BleuOptions options{.tokenize = given.value("tokenize", "13a"),
                      .lowercase = given.value("lowercase", false),
                      .smoothing = given.value("smooth_method", "exp"),
                      .effective_order = given.value("effective_order", false)};
  if (given.contains("smooth_value")) options.smoothing_value = given["smooth_value"].get<double>();
  return options;
}

ChrfOptions chrf_options(const json& given) {
  return {.character_order = given.value("char_order", 6),
          .word_order = given.value("word_order", 0),
          .beta = given.value("beta", 2),
          .lowercase = given.value("lowercase", false)};
}

/// sacreBLEU's signature as bough writes it.
std::string with_our_version(std::string signature) {
  const std::size_t at = signature.find("version:");
  return signature.substr(0, at) + "version:bough-" + build_information().version;
}

std::string utf8(std::u32string_view text) {
  std::string result;
  for (const char32_t c : text) {
    const auto tail = [c](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
    if (c < 0x80) {
      result += static_cast<char>(c);
    } else if (c < 0x800) {
      result += {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
    } else if (c < 0x10000) {
      result += {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
    } else {
      result += {static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0)};
    }
  }
  return result;
}

TEST(SegmentTokenizer, CutsWordsAsSacrebleuDoes) {
  const json cases = fixture("tokenizations");
  EXPECT_GT(cases.size(), 100u);
  for (const json& one : cases) {
    for (const auto& [name, words] : one.at("words").items()) {
      std::u32string text = code_points(one.at("text").get<std::string>(), false);
      while (!text.empty() && separates_words(text.back())) text.pop_back();
      std::string found;
      const std::u32string tokenized = segment_tokenizer(name)(text);
      for (const std::u32string_view word : split_at_white_space(tokenized))
        found += (found.empty() ? "" : " ") + utf8(word);
      EXPECT_EQ(found, words.get<std::string>()) << name << ": " << one.at("text");
    }
  }
}

TEST(Bleu, EqualsSacrebleuOnRealAndDegenerateCorpora) {
  const json corpora = fixture("corpora");
  ASSERT_GT(corpora.size(), 20u);
  for (const json& corpus : corpora) {
    const auto hypotheses = corpus.at("hypotheses").get<Lines>();
    const auto references = corpus.at("references").get<std::vector<Lines>>();
    for (const json& wanted : corpus.at("bleu")) {
      SCOPED_TRACE(corpus.at("name").get<std::string>() + wanted.at("options").dump());
      const BleuScore found = corpus_bleu(hypotheses, references, bleu_options(wanted.at("options")));
      EXPECT_NEAR(found.score, wanted.at("score").get<double>(), 1e-6);
      if (wanted.contains("matches")) {
        EXPECT_EQ(json(found.matches), wanted.at("matches"));
        EXPECT_EQ(json(found.totals), wanted.at("totals"));
      }
      // The line of sacreBLEU has one decimal less of the score.
      const std::string line = to_string(found), shown = wanted.at("line").get<std::string>();
      EXPECT_EQ(line.substr(line.find(' ', 7)), shown.substr(shown.find(' ', 7)));
    }
  }
}

TEST(Chrf, EqualsSacrebleuOnRealAndDegenerateCorpora) {
  const json corpora = fixture("corpora");
  ASSERT_GT(corpora.size(), 20u);
  for (const json& corpus : corpora) {
    const auto hypotheses = corpus.at("hypotheses").get<Lines>();
    const auto references = corpus.at("references").get<std::vector<Lines>>();
    for (const json& wanted : corpus.at("chrf")) {
      SCOPED_TRACE(corpus.at("name").get<std::string>() + wanted.at("options").dump());
      const Chrf metric(chrf_options(wanted.at("options")));
      EXPECT_NEAR(metric.score(metric.count_corpus(hypotheses, references).totals()), wanted.at("score").get<double>(),
                  1e-6);
      EXPECT_EQ(metric.name(), wanted.at("name").get<std::string>());
      if (references.size() == 1) {
        EXPECT_NEAR(corpus_chrf(hypotheses, references.front(), chrf_options(wanted.at("options"))),
                    wanted.at("score").get<double>(), 1e-6);
      }
    }
  }
}

TEST(TranslationMetric, SignsAsSacrebleuDoesWithItsOwnVersion) {
  const json signatures = fixture("signatures");
  ASSERT_EQ(signatures.size(), 8u);
  for (const json& wanted : signatures) {
    const std::string signature = with_our_version(wanted.at("signature").get<std::string>());
    const json& options = wanted.at("options");
    if (wanted.at("metric") == "BLEU") {
      EXPECT_EQ(Bleu(bleu_options(options)).signature(2), signature);
    } else {
      EXPECT_EQ(Chrf(chrf_options(options)).signature(2), signature);
    }
  }
  EXPECT_EQ(corpus_bleu(Lines{"a"}, Lines{"a"}).signature,
            with_our_version("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"));
}

TEST(Bleu, OfOneReferenceIsThatOfAListOfOne) {
  const Lines hypotheses{"the cat sat on the mat", "a dog"}, references{"the cat sat on a mat", "a dog"};
  const BleuScore one = corpus_bleu(hypotheses, references), list = corpus_bleu(hypotheses, std::vector{references});
  EXPECT_EQ(one.score, list.score);
  EXPECT_EQ(one.signature, list.signature);
  EXPECT_GT(one.score, 50);
}

TEST(Bleu, OfNoSegmentsIsZero) {
  EXPECT_EQ(corpus_bleu(Lines{}, Lines{}).score, 0);
  EXPECT_EQ(corpus_chrf(Lines{}, Lines{}), 0);
  EXPECT_EQ(SegmentCounts().num_segments(), 0);
  EXPECT_THAT(SegmentCounts().totals(), ElementsAre());
}

TEST(TranslationMetric, BytesThatAreNoUtf8StandForTheReplacementCharacter) {
  const Lines damaged{"na\xefve \xff\xfe t\xe9xt and more words", std::string("a\0b", 3)};
  const Lines replaced{"na\uFFFDve \uFFFD\uFFFD t\uFFFDxt and more words", std::string("a\0b", 3)};
  for (const char* tokenizer : {"13a", "intl", "zh", "char", "none"}) {
    for (const bool lowercase : {false, true}) {
      EXPECT_DOUBLE_EQ(corpus_bleu(damaged, replaced, {.tokenize = tokenizer, .lowercase = lowercase}).score, 100);
      EXPECT_LT(corpus_bleu(damaged, Lines{"naive text and more words", "ab"}, {.tokenize = tokenizer}).score, 100);
    }
  }
  EXPECT_DOUBLE_EQ(corpus_chrf(damaged, replaced), 100);
}

TEST(TranslationMetric, TakesLinearTimeForLongSegments) {
  std::string entities, stops, marks;
  while (entities.size() < 100'000) entities += "&amp;&quot;<skipped>-\n";
  for (int i = 0; i < 25'000; ++i) stops += ".,-";
  for (int i = 0; i < 25'000; ++i) marks += "\u0301";
  const Lines segments{entities, stops, marks};
  for (const char* tokenizer : {"13a", "intl", "zh", "char", "none"}) {
    EXPECT_GT(corpus_bleu(segments, segments, {.tokenize = tokenizer, .effective_order = true}).score, 99.9);
  }
}

TEST(TranslationMetric, CountsOfSegmentsAddUp) {
  const json corpus = fixture("corpora").at(3);
  const auto hypotheses = corpus.at("hypotheses").get<Lines>(), references = corpus.at("references").at(0).get<Lines>();
  std::vector<std::unique_ptr<TranslationMetric>> metrics;
  metrics.push_back(std::make_unique<Bleu>());
  metrics.push_back(std::make_unique<Chrf>(ChrfOptions{.word_order = 2}));
  for (const auto& metric : metrics) {
    const SegmentCounts counts = metric->count_corpus(hypotheses, references);
    ASSERT_EQ(counts.num_segments(), std::ssize(hypotheses));
    for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, hypotheses.size() / 2}) {
      const std::span all(hypotheses), wanted(references);
      std::vector<std::int64_t> sum = metric->count_corpus(all.first(cut), wanted.first(cut)).totals();
      const std::vector<std::int64_t> rest = metric->count_corpus(all.subspan(cut), wanted.subspan(cut)).totals();
      std::ranges::transform(sum, rest, sum.begin(), std::plus());
      EXPECT_EQ(sum, counts.totals());
    }
  }
}

TEST(TranslationMetric, RefusesWhatDoesNotPairUpAndOptionsThatThereAreNot) {
  const Lines two{"a", "b"}, three{"a", "b", "c"};
  EXPECT_THAT([&] { corpus_bleu(two, three); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr("2 hypotheses"), HasSubstr("3 references"))));
  EXPECT_THROW(corpus_bleu(two, std::vector{two, three}), ConfigError);
  EXPECT_THROW(corpus_bleu(two, std::vector<Lines>{}), ConfigError);
  EXPECT_THROW(corpus_chrf(three, two), ConfigError);
  EXPECT_THAT([] { Bleu({.tokenize = "13b"}); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr("'13b'"), HasSubstr("intl"))));
  EXPECT_THROW(Bleu({.smoothing = "linear"}), ConfigError);
  EXPECT_THROW(Bleu({.smoothing_value = 0.1}), ConfigError) << "exp has none";
  EXPECT_THROW(Bleu({.smoothing = "floor", .smoothing_value = -1}), ConfigError);
  EXPECT_THROW(Bleu({.smoothing = "floor", .smoothing_value = std::nan("")}), ConfigError);
  EXPECT_THROW(Chrf({.character_order = 0}), ConfigError);
  EXPECT_THROW(Chrf({.character_order = 21}), ConfigError);
  EXPECT_THROW(Chrf({.word_order = -1}), ConfigError);
  EXPECT_THROW(Chrf({.beta = 0}), ConfigError);
}

/// The two systems and references of a bootstrap in the fixture.
class PairedBootstrapTest : public testing::Test {
 protected:
  const json given = fixture("bootstrap");
  const Lines references = given.at("references").get<Lines>(), baseline = given.at("baseline").get<Lines>();

  Lines system(std::size_t i) const { return given.at("systems").at(i).at("hypotheses").get<Lines>(); }
  PairedBootstrap compare(const TranslationMetric& metric, const Lines& one, const Lines& other,
                          const BootstrapOptions& options = {}) const {
    return paired_bootstrap(metric, metric.count_corpus(one, references), metric.count_corpus(other, references),
                            options);
  }
};

TEST_F(PairedBootstrapTest, AgreesWithSacrebleuWithinWhatDrawsDiffer) {
  const Bleu bleu;
  const Chrf chrf;
  for (const json& system : given.at("systems")) {
    for (const json& wanted : system.at("results")) {
      const TranslationMetric& metric =
          wanted.at("metric") == "BLEU" ? static_cast<const TranslationMetric&>(bleu) : chrf;
      const BootstrapOptions options{.samples = 4000};
      EXPECT_EQ(metric.signature(1, options), with_our_version(wanted.at("signature").get<std::string>()));
      const PairedBootstrap found = compare(metric, system.at("hypotheses").get<Lines>(), baseline, options);
      const double p = wanted.at("p");
      EXPECT_NEAR(found.p_value, p, 4 * std::sqrt(2 * p * (1 - p) / 4000) + 1e-3);
      const ScoreEstimate* const estimates[] = {&found.system, &found.baseline};
      for (std::size_t i = 0; i < 2; ++i) {
        const double half = wanted.at("half_intervals").at(i);
        EXPECT_NEAR(estimates[i]->score, wanted.at("scores").at(i).get<double>(), 1e-6);
        EXPECT_NEAR(estimates[i]->mean, wanted.at("means").at(i).get<double>(), 0.05 * half);
        EXPECT_NEAR((estimates[i]->high - estimates[i]->low) / 2, half, 0.08 * half);
      }
    }
  }
}

TEST_F(PairedBootstrapTest, IsTheSameForASeedAndAnyNumberOfThreads) {
  const Bleu metric;
  const auto describe = [&](std::uint64_t seed) {
    const PairedBootstrap found = compare(metric, system(1), baseline, {.samples = 333, .seed = seed});
    return std::vector{found.system.mean, found.baseline.low, found.difference.mean, found.difference.high,
                       found.p_value};
  };
  const std::vector<double> once = describe(1);
  EXPECT_EQ(describe(1), once);
  test::expect_same_bits_for_threads([&] { return Tensor::from_vector(describe(1), {5}); });
  EXPECT_NE(describe(2), once);
}

TEST_F(PairedBootstrapTest, TurnsItsSignWithTheSystems) {
  const Chrf metric;
  const PairedBootstrap one = compare(metric, system(2), baseline), other = compare(metric, baseline, system(2));
  EXPECT_LT(one.difference.high, 0) << "the system is worse for sure";
  EXPECT_EQ(one.difference.score, -other.difference.score);
  EXPECT_EQ(one.difference.low, -other.difference.high);
  EXPECT_EQ(one.system.mean, other.baseline.mean);
  EXPECT_EQ(one.p_value, other.p_value);
  EXPECT_LT(one.p_value, 0.01);
}

TEST_F(PairedBootstrapTest, FindsNoDifferenceBetweenEqualOutputs) {
  const PairedBootstrap found = compare(Bleu(), baseline, baseline);
  EXPECT_EQ(found.p_value, 1);
  EXPECT_EQ(found.difference.low, 0);
  EXPECT_EQ(found.difference.high, 0);
  EXPECT_LT(found.system.low, found.system.score);
}

TEST_F(PairedBootstrapTest, OfOneSegmentHasNoScatter) {
  const Bleu metric;
  const SegmentCounts one = metric.count_corpus(Lines{"a b c d e"}, Lines{"a b c d e"});
  const SegmentCounts other = metric.count_corpus(Lines{"a b c d f"}, Lines{"a b c d e"});
  const PairedBootstrap found = paired_bootstrap(metric, one, other, {.samples = 10});
  EXPECT_EQ(found.system.low, found.system.high);
  EXPECT_EQ(found.difference.mean, found.difference.score);
}

TEST_F(PairedBootstrapTest, DrawsAllSegmentsEquallyOften) {
  // Of counts in which segment i alone has a word, the mean number of words says how often it is drawn.
  class Words final : public TranslationMetric {
   public:
    std::string name() const override { return "words"; }
    std::string signature(std::int64_t, const std::optional<BootstrapOptions>&) const override { return ""; }
    std::int64_t width() const override { return 1; }
    void count_segment(std::string_view, std::span<const std::string_view>, std::span<std::int64_t>) const override {}
    double score(std::span<const std::int64_t> totals) const override { return static_cast<double>(totals[0]); }
  };
  for (const std::size_t segments : {1u, 3u, 7u, 10u}) {
    for (std::size_t i = 0; i < segments; ++i) {
      SegmentCounts counts{.width = 1, .counts = std::vector<std::int64_t>(segments)};
      counts.counts[i] = 1;
      const PairedBootstrap found = paired_bootstrap(Words(), counts, counts, {.samples = 4000});
      EXPECT_NEAR(found.system.mean, 1, 5 / std::sqrt(4000.0)) << i << " of " << segments;
    }
  }
}

TEST_F(PairedBootstrapTest, RefusesCountsThatCannotBeCompared) {
  const Bleu metric;
  const SegmentCounts two = metric.count_corpus(Lines{"a", "b"}, Lines{"a", "b"});
  const SegmentCounts one = metric.count_corpus(Lines{"a"}, Lines{"a"});
  EXPECT_THAT([&] { paired_bootstrap(metric, two, one); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr("2 segments"), HasSubstr("other 1"))));
  EXPECT_THROW(paired_bootstrap(Chrf(), two, two), ConfigError);
  EXPECT_THROW(paired_bootstrap(metric, two, two, {.samples = 0}), ConfigError);
  const SegmentCounts none = metric.count_corpus(Lines{}, Lines{});
  EXPECT_THROW(paired_bootstrap(metric, none, none), ConfigError);
}

}  // namespace
}  // namespace bough
