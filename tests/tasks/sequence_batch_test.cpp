#include "tasks/texts/sequence_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/rows.h"
#include "tasks/texts/cached_generator.h"
#include "tasks/texts/cross_stage.h"
#include "tasks/texts/text_classifier.h"
#include "tasks/texts/word_table.h"
#include "tests/support/errors.h"

namespace bough {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Words = std::vector<std::int32_t>;

std::vector<std::span<const std::int32_t>> spans(const std::vector<Words>& sequences) {
  return {sequences.begin(), sequences.end()};
}

std::shared_ptr<const GraphGenerator> pattern(const json& specification) { return generators().make(specification); }

TextClassifier small_model(const json& specification, const SequenceBatcherOptions& batcher,
                           std::int64_t sequences = 1) {
  manual_seed(3);
  TextClassifierOptions options{
      .words = 20,
      .embedding_dim = 6,
      .transformer = nn::GraphTransformerOptions::for_graph(
          *pattern(specification), 40, {.layers = batcher.layers, .layer = {.dim = 8, .heads = 2, .feed_forward = 16}}),
      .sequences_per_text = sequences,
      .hidden = 5,
      .classes = 3};
  if (batcher.cross) {
    ++options.transformer.stages;
    ++options.transformer.layer.num_relations;
  }
  return TextClassifier(options);
}

std::vector<double> scores(const TextClassifier& model, const SequenceBatcher& batcher,
                           const std::vector<Words>& texts) {
  const NoGrad no_grad;
  return model.forward(batcher.make(spans(texts))).to_vector<double>();
}

/// Each text is judged as if it were alone, whatever stands beside it.
void expect_same_alone(const json& specification, SequenceReadout readout) {
  SCOPED_TRACE(specification.dump());
  const SequenceBatcherOptions options{.layers = 2, .readout = readout};
  const SequenceBatcher batcher(pattern(specification), options);
  TextClassifier model = small_model(specification, options);
  model.eval();
  const std::vector<Words> texts = {{2, 3, 4, 5, 6, 7, 8}, {9}, {2, 3, 4}, {3, 3, 3, 10, 11}};
  const std::vector<double> together = scores(model, batcher, texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::vector<double> alone = scores(model, batcher, {texts[i]});
    for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(together[3 * i + j], alone[j], 1e-5) << i;
  }
}

TEST(SequenceBatch, JudgesEachTextAsIfItWereAlone) {
  for (const json& specification :
       {json({{"kind", "bpt"}, {"k", 2}}), json({{"kind", "causal"}, {"of", {{"kind", "bpt"}, {"k", 2}}}}),
        json({{"kind", "full"}}), json({{"kind", "window"}, {"width", 2}}), json({{"kind", "star"}}),
        json({{"kind", "hierarchical"}, {"size", 2}}), json({{"kind", "longformer"}, {"width", 2}}),
        json({{"kind", "bigbird"}, {"width", 1}, {"random", 1}})}) {
    expect_same_alone(specification, SequenceReadout::summary);
    expect_same_alone(specification, SequenceReadout::tokens);
    expect_same_alone(specification, SequenceReadout::maximum);
  }
  expect_same_alone({{"kind", "bpt"}}, SequenceReadout::root);
}

TEST(SequenceBatch, ReadsTheRootWhereThereIsOneAndTheMeanOfTokensOtherwise) {
  const std::vector<Words> texts = {{2, 3, 4}, {5, 6}};
  const SequenceBatch tree = SequenceBatcher(pattern("bpt"), {}).make(spans(texts));
  EXPECT_FALSE(tree.readout_offsets.defined()) << "one node a text";
  const SequenceBatch window = SequenceBatcher(pattern({{"kind", "window"}, {"width", 1}}), {}).make(spans(texts));
  EXPECT_EQ(window.readout_offsets.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 3, 5}));
  EXPECT_EQ(window.positions.to_vector<std::int32_t>(), (Words{0, 1, 2, 0, 1}));
  EXPECT_THAT(test::error_message<ConfigError>([] {
                SequenceBatcher(pattern({{"kind", "window"}, {"width", 1}}), {.readout = SequenceReadout::root});
              }),
              HasSubstr("no root"));
  EXPECT_THAT(test::error_message<ConfigError>([] {
                SequenceBatcher(pattern({{"kind", "memory"}, {"length", 4}}), {});
              }),
              HasSubstr("outside of the text"));
}

TEST(SequenceBatch, PutsPlaceholdersWithoutAnEmbeddingInFront) {
  const SequenceBatcherOptions options{.layers = 1, .readout = SequenceReadout::tokens};
  const SequenceBatcher batcher(pattern({{"kind", "window"}, {"width", 1}}), options);
  const std::vector<Words> texts = {{2, 3}};
  const SequenceBatch batch = batcher.make(spans(texts), 2);
  EXPECT_EQ(batch.words.to_vector<std::int32_t>(), (Words{WordTable::placeholder, WordTable::placeholder, 2, 3}));
  TextClassifierOptions model_options{
      .words = 20,
      .embedding_dim = 8,
      .transformer = {.layers = 1, .layer = {.dim = 8, .heads = 2, .feed_forward = 8, .num_relations = 3}},
      .classes = 2};
  const TextClassifier model(model_options);
  EXPECT_EQ(std::ranges::count(model.weight_matrices(), "embeddings"), 0) << "they do not decay with the projections";
  EXPECT_EQ(std::ranges::count(model.weight_matrices(), "output.weight"), 1);
  const std::vector<float> rows = model.embed(batch).to_vector<float>();
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(rows[i], 0) << i;
  EXPECT_NE(rows[16], 0);
}

TEST(SequenceBatch, WordDropoutZeroesWholeEmbeddingsInTrainingOnly) {
  const SequenceBatcher batcher(pattern({{"kind", "window"}, {"width", 1}}), {.readout = SequenceReadout::tokens});
  const std::vector<Words> texts(64, Words(10, 7));
  const SequenceBatch batch = batcher.make(spans(texts));
  manual_seed(5);
  TextClassifier model(
      {.words = 20,
       .embedding_dim = 8,
       .word_dropout = 0.25,
       .transformer = {.layers = 1, .layer = {.dim = 8, .heads = 2, .feed_forward = 8, .num_relations = 3}},
       .classes = 2});
  const std::vector<float> word = gather_rows(model.embeddings, batch.words).to_vector<float>();
  std::int64_t dropped = 0;
  const std::vector<float> rows = model.embed(batch).to_vector<float>();
  for (std::size_t token = 0; token < 640; ++token) {
    const bool zero = rows[8 * token] == 0;
    dropped += zero;
    for (std::size_t i = 8 * token; i < 8 * (token + 1); ++i) EXPECT_FLOAT_EQ(rows[i], zero ? 0 : word[i]) << token;
  }
  EXPECT_NEAR(static_cast<double>(dropped) / 640, 0.25, 0.06);
  model.eval();
  EXPECT_EQ(model.embed(batch).to_vector<float>(), word);
}

/// By hand: nodes of pair (0, 1) attend to tokens of the other.
TEST(CrossStage, LinksEachNodeToTheTokensOfTheOtherSentence) {
  const std::vector<std::int64_t> lengths = {2, 3};
  const AttentionGraph own = build_batch(*pattern("bpt"), lengths, false);
  const AttentionGraph graph = with_cross_stage(own);
  graph.validate_nodes();
  ASSERT_EQ(graph.stages.size(), 2u);
  EXPECT_EQ(graph.stages[0].num_edges(), own.graph.num_edges());
  // 3 nodes attend to 3 tokens, 6 nodes to 2.
  EXPECT_EQ(graph.stages[1].num_edges(), 3 * 3 + 6 * 2);
  EXPECT_EQ(graph.graph.num_edges(), own.graph.num_edges() + 21);
  EXPECT_EQ(graph.num_relations(), own.num_relations() + 1);
  EXPECT_EQ(graph.relations.back(), "cross");
  const CooView edges = graph.stages[1].coo();
  for (std::size_t e = 0; e < edges.src.size(); ++e) {
    const auto src = static_cast<std::size_t>(edges.src[e]), dst = static_cast<std::size_t>(edges.dst[e]);
    EXPECT_EQ(graph.kinds[src], NodeKind::token);
    EXPECT_NE(src < 3, dst < 3) << "the other sentence";
    EXPECT_EQ(graph.stages[1].edge_types()[e], own.num_relations());
  }
}

TEST(CrossStage, RefusesSingleSentencesAndPatternsThatTakeNoStage) {
  const std::vector<std::int64_t> one = {2};
  EXPECT_THROW(with_cross_stage(build_batch(*pattern("bpt"), one, false)), GraphError);
  EXPECT_THAT(
      test::error_message<ConfigError>([] {
        SequenceBatcher(pattern({{"kind", "sparse_strided"}, {"stride", 2}, {"split_heads", true}}), {.cross = true});
      }),
      HasSubstr("model.cross"));
}

TEST(CrossStage, LetsAPairOfSentencesReadEachOther) {
  const json specification = {{"kind", "bpt"}, {"k", 2}};
  for (const bool cross : {true, false}) {
    const SequenceBatcherOptions options{.layers = 2, .cross = cross};
    const SequenceBatcher batcher(pattern(specification), options);
    TextClassifier model = small_model(specification, options, 2);
    model.eval();
    const Words premise = {2, 3, 4, 5}, hypothesis = {6, 7}, other = {8, 9};
    const std::vector<double> together = scores(model, batcher, {premise, hypothesis, premise, other});
    const std::vector<double> alone = scores(model, batcher, {premise, other});
    for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(together[3 + j], alone[j], 1e-5);
    // The vector of the premise knows the hypothesis only where there is a cross stage.
    const auto vector_of_premise = [&](const Words& second) {
      const std::vector<Words> pair = {premise, second};
      const NoGrad no_grad;
      const SequenceBatch batch = batcher.make(spans(pair));
      return model.transformer().forward(batch.schedule, model.embed(batch)).rows(0, 1).to_vector<float>();
    };
    EXPECT_EQ(vector_of_premise(hypothesis) == vector_of_premise(other), !cross);
  }
}

TEST(CachedGenerator, BuildsEachLengthOnceAndForgetsTheOldestWhenFull) {
  class Counting : public GraphGenerator {
   public:
    AttentionGraph build(const BuildOptions& options) const override {
      ++built;
      return inner->build(options);
    }
    std::int64_t num_relations(std::int64_t length) const override { return inner->num_relations(length); }
    std::unique_ptr<GraphGenerator> inner = generators().make("bpt");
    mutable std::int64_t built = 0;
  };
  const auto counting = std::make_shared<Counting>();
  const CachedGenerator roomy(counting, 1 << 20);
  for (int i = 0; i < 3; ++i) {
    for (std::int64_t length = 1; length <= 10; ++length) {
      EXPECT_EQ(roomy.build({.length = length}).num_tokens(), length);
    }
  }
  EXPECT_EQ(counting->built, 10);
  roomy.build({.length = 3, .causal = true});
  EXPECT_EQ(counting->built, 11) << "another graph";

  const std::int64_t limit = 3000;
  const CachedGenerator small(counting, limit);
  for (std::int64_t length = 1; length <= 40; ++length) {
    small.build({.length = length});
    EXPECT_LE(small.bytes(), limit);
  }
  EXPECT_GE(small.graphs(), 1);
  const std::int64_t before = counting->built;
  small.build({.length = 1});
  EXPECT_EQ(counting->built, before + 1) << "forgotten long ago";
  EXPECT_EQ(small.build({.length = 2000}).num_tokens(), 2000) << "larger than the limit";
}

}  // namespace
}  // namespace bough
