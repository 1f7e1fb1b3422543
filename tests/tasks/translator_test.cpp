#include "tasks/translation/translator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using nlohmann::json;
using Tokens = std::vector<std::int32_t>;

/// A small model that was never trained, and sentences to translate. Pieces are those of a vocabulary of 20 tokens, the
/// last two of which are begin and end.
class TranslatorOf : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::int64_t vocabulary = 20, context = 7, max_length = 12;

  void SetUp() override {
    if (!has_sentencepiece()) GTEST_SKIP() << "no SentencePiece here";
    std::vector<std::string> lines;
    for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'})
      lines.emplace_back(20, letter);
    tokens_.emplace(train_sentencepiece(lines, {.kind = "bpe", .size = vocabulary, .character_coverage = 1}));
    manual_seed(11);
    const std::shared_ptr<const GraphGenerator> pattern = generators().make(json::parse(GetParam()));
    const nn::GraphTransformerOptions stack = nn::GraphTransformerOptions::for_graph(
        *pattern, context + max_length,
        {.layers = 2, .layer = {.dim = 16, .heads = 2, .feed_forward = 16, .pre_norm = true, .relation_deviation = 1}});
    graphs_ = std::make_unique<TranslationGraphBuilder>(
        pattern, pattern, TranslationGraphOptions{.encoder_layers = 2, .decoder_layers = 2});
    // Far from even scores, so that rounding decides nothing and sentences end.
    model_ = std::make_unique<TranslationModel>(TranslationModelOptions{.source_vocabulary = tokens_->size(),
                                                                        .target_vocabulary = tokens_->size(),
                                                                        .encoder = stack,
                                                                        .decoder = {.layers = 2, .layer = stack.layer},
                                                                        .input_scale = 2,
                                                                        .tied = false});
    model_->eval();
  }

  Translator translator() const { return {*model_, *graphs_, *tokens_, context, max_length}; }

  Tokens sentence(std::uint64_t seed, std::int64_t length) const {
    const RandomStream random{seed, 5};
    Tokens tokens;
    for (std::int64_t i = 0; i < length; ++i) {
      tokens.push_back(static_cast<std::int32_t>(4 + random(static_cast<std::uint64_t>(i)) % 14));
    }
    tokens.push_back(tokens_->end());
    return tokens;
  }

  /// Log-probabilities of what follows each token of a translation, from one pass over all of it.
  std::vector<std::vector<double>> log_probabilities(const SearchRequest& request, const Tokens& translation) const {
    const NoGrad no_grad;
    SentenceLengths lengths;
    Tokens source, target;
    if (request.context != nullptr) {
      lengths = request.context->lengths();
      source = request.context->source();
      target = request.context->target();
    }
    source.insert(source.end(), request.source.begin(), request.source.end());
    target.push_back(tokens_->begin());
    target.insert(target.end(), translation.begin(), translation.end());
    lengths.source.push_back(std::ssize(request.source));
    lengths.target.push_back(std::ssize(translation) + 1);
    const auto tensor = [](const Tokens& ids) { return Tensor::from_vector(ids, {std::ssize(ids)}); };
    const Tensor scores = model_->forward(graphs_->build(std::vector{lengths}), tensor(source), tensor(target));
    std::vector<std::vector<double>> rows;
    for (std::int64_t row = 0; row < scores.size(0); ++row) {
      rows.push_back(scores.rows(row, row + 1).to_vector<double>());
      double sum = 0;
      for (const double score : rows.back()) sum += std::exp(score);
      for (double& score : rows.back()) score -= std::log(sum);
    }
    return rows;
  }

  /// The likeliest token each time, from a pass over everything before it.
  Tokens greedy(const SearchRequest& request) const {
    Tokens translation;
    while (std::ssize(translation) < max_length - 1) {
      const std::vector<double> row = log_probabilities(request, translation).back();
      const auto best = static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
      if (best == tokens_->end()) break;
      translation.push_back(best);
    }
    return translation;
  }

  std::optional<SentenceTokens> tokens_;
  std::unique_ptr<TranslationGraphBuilder> graphs_;
  std::unique_ptr<TranslationModel> model_;
};

TEST_P(TranslatorOf, FindsGreedilyWhatPassesOverTheWholeTranslationFind) {
  DocumentContext some(context), none(context);
  some.add(sentence(1, 3), Tokens{tokens_->begin(), 5, 6});
  some.add(sentence(2, 4), Tokens{tokens_->begin(), 7, 8, 9, 10});
  const Tokens one = sentence(3, 5), two = sentence(4, 1), three = sentence(5, 8), four = sentence(6, 2);
  const std::vector<SearchRequest> alone{{one, nullptr}, {two, nullptr}, {three, &none}};
  const std::vector<SearchRequest> together{{one, &some}, {two, nullptr}, {three, &none}, {four, &some}};
  Translator searching = translator();
  for (const std::vector<SearchRequest>& requests : {alone, together}) {
    const auto found = searching.search(requests, {.beam = 1});
    ASSERT_EQ(found.size(), requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(found[i].front().tokens, greedy(requests[i])) << i;
  }
}

TEST_P(TranslatorOf, ScoresTranslationsByTheirLogProbabilityAndLength) {
  DocumentContext some(context);
  some.add(sentence(2, 4), Tokens{tokens_->begin(), 7, 8, 9, 10});
  const Tokens one = sentence(3, 5), two = sentence(4, 2);
  const std::vector<SearchRequest> requests{{one, &some}, {two, nullptr}};
  const double alpha = 0.6;
  const auto found = translator().search(requests, {.beam = 4, .length_penalty = alpha, .nbest = 3});
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(found[i].size(), 3u);
    double before = 0;
    for (const TokenHypothesis& hypothesis : found[i]) {
      const auto rows = log_probabilities(requests[i], hypothesis.tokens);
      double sum = rows.back()[static_cast<std::size_t>(tokens_->end())];
      for (std::size_t at = 0; at < hypothesis.tokens.size(); ++at) {
        sum += rows[at][static_cast<std::size_t>(hypothesis.tokens[at])];
      }
      const auto length = static_cast<double>(hypothesis.tokens.size() + 1);
      EXPECT_NEAR(hypothesis.score, sum / std::pow((5 + length) / 6, alpha), 1e-4);
      EXPECT_TRUE(&hypothesis == found[i].data() || hypothesis.score <= before);
      before = hypothesis.score;
    }
  }
}

TEST_P(TranslatorOf, TranslatesADocumentSentenceAfterSentence) {
  TokenSentences source;
  const std::vector<std::int32_t> documents{0, 0, 0, 1, 2, 2};
  for (std::uint64_t i = 0; i < documents.size(); ++i) source.add(sentence(20 + i, 1 + static_cast<std::int64_t>(i)));
  const SearchOptions options{.beam = 3};
  Translator searching = translator();
  DocumentContext before(context);
  before.add(sentence(50, 3), Tokens{tokens_->begin(), 4, 5});

  std::vector<Tokens> expected;
  DocumentContext open = before;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (i > 0 && documents[i] != documents[i - 1]) open.clear();
    const auto own = source.sentence(static_cast<std::int64_t>(i));
    const SearchRequest request{own, &open};
    expected.push_back(searching.search(std::span(&request, 1), options).front().front().tokens);
    Tokens read{tokens_->begin()};
    read.insert(read.end(), expected.back().begin(), expected.back().end());
    open.add(own, read);
  }
  for (const int threads : {1, 2}) {
    const test::ThreadCount count(threads);
    DocumentContext after = before;
    const auto found = searching.translate(source, documents, options, after);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].front().tokens, expected[i]) << i;
    EXPECT_EQ(after.source(), open.source());
    EXPECT_EQ(after.target(), open.target());
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, TranslatorOf,
                         testing::Values(R"("full")", R"({"kind": "bpt", "k": 1})", R"({"kind": "bpt", "k": 3})",
                                         R"({"kind": "window", "width": 2})", R"("sentences")",
                                         R"({"kind": "sentences", "reads": "tokens"})"));

TEST(DocumentContext, KeepsTheLastTokensOfEachSide) {
  DocumentContext context(4);
  context.add(Tokens{1, 2, 3}, Tokens{10});
  context.add(Tokens{4, 5}, Tokens{11, 12});
  EXPECT_EQ(context.source(), (Tokens{2, 3, 4, 5}));
  EXPECT_EQ(context.target(), (Tokens{10, 11, 12}));
  EXPECT_EQ(context.lengths().source, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(context.lengths().target, (std::vector<std::int64_t>{1, 2}));
  context.add(Tokens{6, 7, 8, 9}, Tokens{13});
  EXPECT_EQ(context.lengths().source, (std::vector<std::int64_t>{0, 0, 4}));
  EXPECT_EQ(context.lengths().target, (std::vector<std::int64_t>{1, 2, 1}));
  context.add(Tokens{6}, Tokens{14, 15, 16});
  EXPECT_EQ(context.lengths().source, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(context.lengths().target, (std::vector<std::int64_t>{1, 3}));
  context.clear();
  EXPECT_TRUE(context.source().empty() && context.target().empty() && context.lengths().source.empty());
  DocumentContext none(0);
  none.add(Tokens{1}, Tokens{2});
  EXPECT_TRUE(none.source().empty() && none.lengths().source.empty());
}

}  // namespace
}  // namespace bough
