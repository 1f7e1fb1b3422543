#include "bough/tasks/translation_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/matmul.h"
#include "bough/ops/rows.h"
#include "tests/support/errors.h"

namespace bough {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::int64_t source_tokens = 11, target_tokens = 13;

std::shared_ptr<const GraphGenerator> pattern(const json& specification) { return generators().make(specification); }

TranslationGraphBuilder builder_of(const json& encoder, const json& decoder) {
  return {pattern(encoder), pattern(decoder), {.encoder_layers = 2, .decoder_layers = 3}};
}

TranslationModelOptions model_options(const json& encoder, const json& decoder) {
  const nn::GraphTransformerOptions stack{.layers = 2, .layer = {.dim = 8, .heads = 2, .feed_forward = 16}};
  const auto for_pattern = [&](const json& graph) {
    return nn::GraphTransformerOptions::for_graph(*pattern(graph), 40, stack);
  };
  return {.source_vocabulary = source_tokens,
          .target_vocabulary = target_tokens,
          .encoder = for_pattern(encoder),
          .decoder = {.layers = 3, .layer = for_pattern(decoder).layer}};
}

/// Seeded token numbers.
std::vector<std::int32_t> draw(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
  const RandomStream random{seed, 0};
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(random(static_cast<std::uint64_t>(i)) % vocabulary));
  }
  return tokens;
}

Tensor as_tensor(const std::vector<std::int32_t>& tokens) { return Tensor::from_vector(tokens, {std::ssize(tokens)}); }

std::int64_t sum(const std::vector<std::int64_t>& values) { return std::reduce(values.begin(), values.end()); }

struct Pair {
  SentenceLengths lengths;
  std::vector<std::int32_t> source, target;
};

Pair pair_of(SentenceLengths lengths, std::uint64_t seed) {
  Pair pair{.lengths = std::move(lengths), .source = {}, .target = {}};
  pair.source = draw(sum(pair.lengths.source), source_tokens, seed);
  pair.target = draw(sum(pair.lengths.target), target_tokens, seed + 1000);
  return pair;
}

std::vector<double> scores(const TranslationModel& model, const TranslationGraphBuilder& builder,
                           const std::vector<Pair>& pairs) {
  const NoGrad no_grad;
  std::vector<SentenceLengths> lengths;
  std::vector<std::int32_t> source, target;
  for (const Pair& pair : pairs) {
    lengths.push_back(pair.lengths);
    source.insert(source.end(), pair.source.begin(), pair.source.end());
    target.insert(target.end(), pair.target.begin(), pair.target.end());
  }
  return model.forward(builder.build(lengths), as_tensor(source), as_tensor(target)).to_vector<double>();
}

void expect_near(const std::vector<double>& one, const std::vector<double>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], other[i], 2e-5) << i;
}

const std::vector<Pair>& some_pairs() {
  static const std::vector<Pair> pairs{pair_of({{5}, {7}}, 1), pair_of({{1}, {1}}, 2),
                                       pair_of({{2, 4, 3}, {0, 5, 6}}, 3), pair_of({{9}, {4}}, 4),
                                       pair_of({{0, 6}, {3, 2}}, 5)};
  return pairs;
}

TEST(TranslationModel, TranslatesEachPairAsIfItWereAlone) {
  const std::vector<json> patterns = {"full",
                                      {{"kind", "bpt"}, {"k", 2}},
                                      {{"kind", "window"}, {"width", 2}},
                                      {{"kind", "hierarchical"}, {"size", 3}, {"feedback", true}},
                                      {{"kind", "sentences"}, {"size", 3}}};
  for (const json& encoder : patterns) {
    for (const json& decoder : patterns) {
      SCOPED_TRACE(encoder.dump() + " " + decoder.dump());
      manual_seed(3);
      const TranslationModel model(model_options(encoder, decoder));
      const TranslationGraphBuilder builder = builder_of(encoder, decoder);
      std::vector<double> alone;
      for (const Pair& pair : some_pairs()) {
        const std::vector<double> own = scores(model, builder, {pair});
        EXPECT_EQ(std::ssize(own), pair.lengths.target.back() * target_tokens) << "the last sentence is scored";
        alone.insert(alone.end(), own.begin(), own.end());
      }
      expect_near(scores(model, builder, some_pairs()), alone);
    }
  }
}

TEST(TranslationGraph, LinksTargetTokensToTheirOwnSentenceAlone) {
  const TranslationGraphBuilder builder = builder_of("full", {{"kind", "bpt"}, {"k", 1}});
  std::vector<SentenceLengths> lengths;
  for (const Pair& pair : some_pairs()) lengths.push_back(pair.lengths);
  const TranslationGraph graph = builder.build(lengths);

  std::set<std::pair<std::int64_t, std::int64_t>> expected;
  std::int64_t source = 0, target = 0;
  for (const SentenceLengths& pair : lengths) {
    for (std::size_t sentence = 0; sentence < pair.source.size(); ++sentence) {
      for (std::int64_t to = 0; to < pair.target[sentence]; ++to) {
        for (std::int64_t from = 0; from < pair.source[sentence]; ++from) expected.emplace(source + from, target + to);
      }
      source += pair.source[sentence];
      target += pair.target[sentence];
    }
  }
  std::set<std::pair<std::int64_t, std::int64_t>> edges;
  const CooView coo = graph.cross.coo();
  for (std::size_t i = 0; i < coo.src.size(); ++i) edges.emplace(coo.src[i], coo.dst[i]);
  EXPECT_EQ(edges, expected);
  EXPECT_EQ(graph.cross.num_edges(), std::ssize(expected));
  EXPECT_EQ(graph.cross.num_src(), source);
  EXPECT_EQ(graph.cross.num_dst(), target);
}

/// What changes in the scores of a pair if a token of it becomes another one: rows of scores.
std::set<std::int64_t> changed_rows(const TranslationModel& model, const TranslationGraphBuilder& builder,
                                    const Pair& pair, bool source, std::size_t token) {
  Pair other = pair;
  std::int32_t& changed = source ? other.source[token] : other.target[token];
  changed = (changed + 1) % static_cast<std::int32_t>(source ? source_tokens : target_tokens);
  const std::vector<double> before = scores(model, builder, {pair}), after = scores(model, builder, {other});
  std::set<std::int64_t> rows;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) rows.insert(static_cast<std::int64_t>(i) / target_tokens);
  }
  return rows;
}

TEST(TranslationModel, SeesNoTargetTokenBeforeItsTime) {
  for (const json& decoder : {json("full"), json({{"kind", "bpt"}, {"k", 1}}), json({{"kind", "bpt"}, {"k", 3}})}) {
    SCOPED_TRACE(decoder.dump());
    manual_seed(5);
    const TranslationModel model(model_options("full", decoder));
    const TranslationGraphBuilder builder = builder_of("full", decoder);
    const Pair pair = pair_of({{6}, {9}}, 8);
    for (std::size_t token = 0; token < 9; ++token) {
      const std::set<std::int64_t> rows = changed_rows(model, builder, pair, false, token);
      ASSERT_FALSE(rows.empty());
      EXPECT_EQ(*rows.begin(), static_cast<std::int64_t>(token));
      EXPECT_EQ(rows.size(), 9 - token) << "and every later token sees it";
    }
    EXPECT_EQ(changed_rows(model, builder, pair, true, 2).size(), 9u);
  }
}

TEST(TranslationModel, ReadsItsContextThroughSelfAttention) {
  manual_seed(5);
  const TranslationModel model(model_options("full", "full"));
  const TranslationGraphBuilder builder = builder_of("full", "full");
  const Pair pair = pair_of({{3, 4}, {2, 5}}, 8);
  EXPECT_EQ(changed_rows(model, builder, pair, true, 0).size(), 5u);
  EXPECT_EQ(changed_rows(model, builder, pair, false, 0).size(), 5u);
}

TEST(TranslationModel, TellsPatternsWhichTokensAreASentence) {
  manual_seed(5);
  const json nothing = {{"kind", "sentences"}, {"reads", "nothing"}}, nodes = {{"kind", "sentences"}};
  const Pair pair = pair_of({{3, 4}, {2, 5}}, 8);
  const TranslationModel model(model_options(nothing, nothing));
  const TranslationGraphBuilder builder = builder_of(nothing, nothing);
  EXPECT_TRUE(builder.decoder_reads_sentences());
  for (const bool source : {true, false}) {
    EXPECT_EQ(changed_rows(model, builder, pair, source, 0).size(), 0u) << "the context is another sentence";
    EXPECT_EQ(changed_rows(model, builder, pair, source, source ? 3 : 2).size(), 5u);
  }
  const TranslationModel hierarchical(model_options(nodes, nodes));
  EXPECT_EQ(changed_rows(hierarchical, builder_of(nodes, nodes), pair, true, 0).size(), 5u);
  EXPECT_FALSE(builder_of("full", {{"kind", "bpt"}}).decoder_reads_sentences());
}

/// -sum(q log p) per row in double precision, q smoothed; then the mean.
double smoothed_loss(const std::vector<double>& scores, const std::vector<std::int32_t>& next, double smoothing) {
  double total = 0;
  const auto width = static_cast<std::size_t>(target_tokens);
  for (std::size_t row = 0; row < next.size(); ++row) {
    double sum_of_exp = 0, sum_of_scores = 0;
    for (std::size_t i = 0; i < width; ++i) {
      sum_of_exp += std::exp(scores[row * width + i]);
      sum_of_scores += scores[row * width + i];
    }
    const double lse = std::log(sum_of_exp), own = scores[row * width + static_cast<std::size_t>(next[row])];
    total += (1 - smoothing) * (lse - own) + smoothing * (lse - sum_of_scores / static_cast<double>(width));
  }
  return total / static_cast<double>(next.size());
}

/// The layers on plain graphs whose edges are written down one by one, all nodes at once.
TEST(TranslationModel, LossIsThatOfItsPartsPutTogetherByHand) {
  manual_seed(7);
  TranslationModelOptions options = model_options("full", "full");
  for (nn::GraphTransformerLayerOptions* layer : {&options.encoder.layer, &options.decoder.layer}) {
    layer->num_relations = 0;
    layer->ignore_relations = true;
  }
  options.input = {.max_length = 40, .positions = nn::Positions::sinusoidal, .norm = true};
  const TranslationModel model(options);
  const std::vector<Pair> pairs = {pair_of({{4}, {3}}, 1), pair_of({{2}, {5}}, 2)};
  const std::vector<std::int32_t> next = draw(8, target_tokens, 9);

  std::vector<std::int32_t> all_src, all_dst, causal_src, causal_dst, cross_src, cross_dst, source, target, from, to;
  for (const Pair& pair : pairs) {
    const auto first = static_cast<std::int32_t>(source.size()), begin = static_cast<std::int32_t>(target.size());
    source.insert(source.end(), pair.source.begin(), pair.source.end());
    target.insert(target.end(), pair.target.begin(), pair.target.end());
    const auto last = static_cast<std::int32_t>(source.size()), end = static_cast<std::int32_t>(target.size());
    for (std::int32_t u = first; u < last; ++u) {
      from.push_back(u - first);
      for (std::int32_t v = first; v < last; ++v) (all_src.push_back(v), all_dst.push_back(u));
    }
    for (std::int32_t u = begin; u < end; ++u) {
      to.push_back(u - begin);
      for (std::int32_t v = begin; v <= u; ++v) (causal_src.push_back(v), causal_dst.push_back(u));
      for (std::int32_t v = first; v < last; ++v) (cross_src.push_back(v), cross_dst.push_back(u));
    }
  }
  const Graph all = Graph::from_edges(all_src, all_dst, {.num_nodes = std::ssize(source)});
  const Graph causal = Graph::from_edges(causal_src, causal_dst, {.num_nodes = std::ssize(target)});
  const Graph cross =
      Graph::bipartite(cross_src, cross_dst, {.num_src = std::ssize(source), .num_dst = std::ssize(target)});

  Tensor source_table, target_table, weight, bias;
  for (const auto& [name, tensor] : model.named_parameters()) {
    if (name == "source_embedding.weight") source_table = tensor;
    if (name == "target_embedding.weight") target_table = tensor;
    if (name == "input.norm.weight") weight = tensor;
    if (name == "input.norm.bias") bias = tensor;
  }
  const NoGrad no_grad;
  const nn::InputLayer input({.dim = 8, .max_length = 40, .positions = nn::Positions::sinusoidal, .norm = true});
  input.norm->weight.assign(weight.detach());
  input.norm->bias.assign(bias.detach());
  const auto embedded = [&](const Tensor& table, const std::vector<std::int32_t>& tokens,
                            const std::vector<std::int32_t>& positions) {
    return input.forward(gather_rows(table, as_tensor(tokens)) * std::sqrt(8.0), as_tensor(positions));
  };
  const Tensor encoded = model.encoder().forward(all, embedded(source_table, source, from));
  const Tensor states = model.decoder().forward(causal, cross, embedded(target_table, target, to), encoded);
  const Tensor by_hand = linear(states, target_table);

  const TranslationGraphBuilder builder(pattern("full"), pattern("full"),
                                        {.encoder_layers = 2, .decoder_layers = 3, .with_relations = false});
  const TranslationGraph graph = builder.build(std::vector{pairs[0].lengths, pairs[1].lengths});
  const Tensor loss = cross_entropy(model.forward(graph, as_tensor(source), as_tensor(target)), as_tensor(next),
                                    {.label_smoothing = 0.1});
  EXPECT_NEAR(loss.item<double>(), smoothed_loss(by_hand.to_vector<double>(), next, 0.1), 1e-5);
}

TEST(TranslationModel, SharesAndTiesTablesAsItIsTold) {
  TranslationModelOptions options = model_options("full", "full");
  const std::int64_t both = TranslationModel(options).parameter_count();
  options.tied = false;
  EXPECT_EQ(TranslationModel(options).parameter_count(), both + target_tokens * 8);
  options.source_vocabulary = target_tokens;
  options.shared_embeddings = true;
  EXPECT_EQ(TranslationModel(options).parameter_count(), both + (target_tokens - source_tokens) * 8)
      << "two tables: one for both languages, one for the output";
  options.source_vocabulary = source_tokens;
  EXPECT_THAT(test::error_message<ConfigError>([&] { TranslationModel model(options); }),
              HasSubstr("shared by 11 source tokens and 13 target tokens"));
  options = model_options("full", "full");
  options.decoder.layer.dim = 16;
  EXPECT_THAT(test::error_message<ConfigError>([&] { TranslationModel model(options); }), HasSubstr("8 and 16"));
}

TEST(TranslationGraphBuilder, RefusesWhatNoTranslationCanBeMadeOf) {
  const auto error_of = [](const auto& action) { return test::error_message<Error>(action); };
  EXPECT_THAT(error_of([] { builder_of("full", "star"); }), HasSubstr("causal"));
  EXPECT_THAT(error_of([] { builder_of("full", {{"kind", "adaptive_span"}}); }), HasSubstr("soft span"));
  EXPECT_THAT(error_of([] { builder_of("cross", "full"); }), HasSubstr("outside"));
  const TranslationGraphBuilder builder = builder_of("full", "full");
  const auto build = [&](SentenceLengths lengths) { builder.build(std::vector{std::move(lengths)}); };
  EXPECT_THAT(error_of([&] { build({{3}, {2, 2}}); }), HasSubstr("1 and 2"));
  EXPECT_THAT(error_of([&] { build({{0}, {2}}); }), HasSubstr("no source token"));
  EXPECT_THAT(error_of([&] { build({{2}, {0}}); }), HasSubstr("no target token"));
  EXPECT_THAT(error_of([&] { builder.build(std::span<const SentenceLengths>()); }), HasSubstr("batch"));
}

}  // namespace
}  // namespace bough
