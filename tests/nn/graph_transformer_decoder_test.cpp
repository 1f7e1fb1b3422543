#include "bough/nn/graph_transformer_decoder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/optimizer.h"
#include "bough/nn/positions.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/layer_norm.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"
#include "tests/support/compare.h"
#include "tests/support/peak_memory.h"
#include "tests/support/random_tensor.h"

namespace bough::nn {
namespace {

using test::random_tensor;

AttentionGraph bpt(std::int64_t length, bool causal) {
  return generators().make("bpt", {{"k", 2}})->build({.length = length, .causal = causal});
}

/// From all encoder tokens to all decoder tokens, none to the decoder's spans; the relation is the source's parity.
Graph token_cross(const AttentionGraph& encoder, const AttentionGraph& decoder) {
  std::vector<std::int32_t> src, dst, types;
  for (const std::int32_t to : decoder.tokens) {
    for (const std::int32_t from : encoder.tokens) {
      src.push_back(from);
      dst.push_back(to);
      types.push_back(from % 2);
    }
  }
  return Graph::bipartite(
      src, dst,
      {.num_src = encoder.graph.num_nodes(), .num_dst = decoder.graph.num_nodes(), .edge_types = std::move(types)});
}

struct Setting {
  AttentionGraph encoder = bpt(9, false), decoder = bpt(13, true);
  Graph cross = token_cross(encoder, decoder);

  GraphTransformerDecoderOptions options(double dropout = 0) const {
    return {.layers = 3,
            .layer = {.dim = 16,
                      .heads = 2,
                      .feed_forward = 32,
                      .num_relations = decoder.num_relations(),
                      .pre_norm = true,
                      .dropout = dropout,
                      .attention_dropout = dropout},
            .num_cross_relations = 2};
  }
};

TEST(GraphTransformerDecoder, ReadsTheEncoderOnlyAlongTheCrossGraph) {
  manual_seed(1);
  const Setting setting;
  GraphTransformerDecoder model(setting.options());
  const Tensor h = random_tensor({setting.decoder.graph.num_nodes(), 16});
  Tensor encoded = random_tensor({setting.encoder.graph.num_nodes(), 16}, DType::float32, 2);
  const auto run = [&] { return model.forward(setting.decoder.graph, setting.cross, h, encoded); };
  const Tensor before = run();
  encoded.rows(9, encoded.size(0)).fill(7);  // spans of the encoder, to which no token attends
  test::expect_same_bits(run(), before);
  encoded.rows(4, 5).fill(7);
  const Tensor after = run();
  for (std::int64_t token = 0; token < 13; ++token) {
    EXPECT_GT(max(abs(after.rows(token, token + 1) - before.rows(token, token + 1))).item<double>(), 1e-4);
  }
}

TEST(GraphTransformerDecoder, LetsNothingThroughFromTheFuture) {
  manual_seed(2);
  const Setting setting;
  GraphTransformerDecoder model(setting.options());
  Tensor h = random_tensor({setting.decoder.graph.num_nodes(), 16});
  const Tensor encoded = random_tensor({setting.encoder.graph.num_nodes(), 16}, DType::float32, 2);
  const auto run = [&] { return model.forward(setting.decoder.graph, setting.cross, h, encoded).rows(0, 6); };
  const Tensor before = run();
  h.rows(6, 13).fill(3);
  test::expect_same_bits(run(), before);
}

TEST(GraphTransformerDecoder, GivesTheSameBitsInLessMemoryWhereItComputesAgain) {
  // Long enough for activations to count for more than the gradients of parameters.
  const Setting setting{.encoder = bpt(100, false), .decoder = bpt(200, true)};
  std::vector<std::vector<Tensor>> results;
  std::vector<std::int64_t> peaks;
  for (const ActivationPolicy policy :
       {ActivationPolicy::save_all, ActivationPolicy::checkpoint_layers, ActivationPolicy::recompute_cheap}) {
    manual_seed(3);
    GraphTransformerDecoderOptions options = setting.options(0.2);
    options.layers = 6;
    options.activations = policy;
    GraphTransformerDecoder model(options);
    Tensor h = random_tensor({setting.decoder.graph.num_nodes(), 16});
    Tensor encoded = random_tensor({setting.encoder.graph.num_nodes(), 16}, DType::float32, 2);
    h.set_requires_grad(true);
    encoded.set_requires_grad(true);
    peaks.push_back(test::peak_bytes([&] {
      const Tensor output = model.forward(setting.decoder.graph, setting.cross, h, encoded);
      sum(square(output)).backward();
      results.push_back({output.detach()});
    }));
    results.back().push_back(h.grad());
    results.back().push_back(encoded.grad());
    for (const Tensor& parameter : model.parameters()) results.back().push_back(parameter.grad());
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    test::expect_same_bits(results[1][i], results[0][i]);
    test::expect_same_bits(results[2][i], results[0][i]);
  }
  EXPECT_LT(peaks[1], peaks[0] / 2);
  EXPECT_LT(peaks[2], peaks[0]);
}

class DecoderOnLayerSchedule : public testing::TestWithParam<std::pair<const char*, nlohmann::json>> {};

TEST_P(DecoderOnLayerSchedule, EqualsAllNodesComputedThePlainWay) {
  const AttentionGraph graph =
      generators().make(GetParam().first, GetParam().second)->build({.length = 29, .causal = true});
  const Graph cross =
      generators().make("cross", {{"sentences", {10, 19}}, {"source_sentences", {4, 7}}})->build({.length = 29}).graph;
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = 3});
  for (const bool pre_norm : {false, true}) {
    SCOPED_TRACE(pre_norm);
    manual_seed(6);
    GraphTransformerDecoder model({.layers = 3,
                                   .layer = {.dim = 16,
                                             .heads = 4,
                                             .feed_forward = 24,
                                             .num_relations = graph.num_relations(),
                                             .pre_norm = pre_norm,
                                             .attention_bias = true},
                                   .num_cross_relations = 1});
    Tensor tokens = random_tensor({29, 16}), encoded = random_tensor({11, 16}, DType::float32, 2);
    tokens.set_requires_grad(true);
    encoded.set_requires_grad(true);
    const Tensor pruned = model.forward(schedule, cross, tokens, encoded);
    sum(square(pruned)).backward();
    const std::vector<Tensor> gradients{tokens.grad().clone(), encoded.grad().clone(),
                                        model.layer(0).cross_attention.key.weight.grad().clone()};
    model.clear_grad();
    tokens.clear_grad();
    encoded.clear_grad();

    const Tensor rows = index_tensor(graph.tokens);
    const std::vector<Graph> graphs = graph.head_groups.empty() ? std::vector{graph.graph} : graph.head_groups;
    Tensor h = scatter_add_rows(tokens, rows, graph.graph.num_nodes());
    for (std::int64_t i = 0; i < 3; ++i)
      h = model.layer(i).forward(LayerStep{.graphs = graphs}, cross, h, encoded, rows);
    Tensor whole = gather_rows(h, rows);
    if (pre_norm) whole = layer_norm(whole, {}, {});  // the last norm starts with scale 1 and shift 0
    test::expect_close(pruned, whole, test::Tolerance{1e-4, 1e-4});
    sum(square(whole)).backward();
    test::expect_close(gradients[0], tokens.grad(), test::Tolerance{1e-3, 1e-3});
    test::expect_close(gradients[1], encoded.grad(), test::Tolerance{1e-3, 1e-3});
    test::expect_close(gradients[2], model.layer(0).cross_attention.key.weight.grad(), test::Tolerance{1e-3, 1e-3});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, DecoderOnLayerSchedule,
    testing::Values(std::pair("bpt", nlohmann::json{{"k", 2}}), std::pair("full", nlohmann::json::object()),
                    std::pair("sparse_strided", nlohmann::json{{"stride", 4}, {"split_heads", true}})),
    [](const auto& instance) { return std::string(instance.param.first); });

TEST(GraphTransformerDecoder, RefusesSchedulesThatDoNotFit) {
  const Setting setting;
  GraphTransformerDecoder model(setting.options());
  const Graph cross = generators().make("cross", {{"source_sentences", {5}}})->build({.length = 13}).graph;
  const Tensor tokens = zeros({13, 16}), encoded = zeros({5, 16});
  const auto schedule = [](const char* kind, const nlohmann::json& parameters, LayerScheduleOptions options) {
    return make_layer_schedule(generators().make(kind, parameters)->build({.length = 13, .causal = false}), options);
  };
  const LayerSchedule good = schedule("bpt", {{"k", 2}}, {.layers = 3});
  EXPECT_EQ(model.forward(good, cross, tokens, encoded).shape(), tokens.shape());
  EXPECT_THROW(model.forward(good, setting.cross, tokens, encoded), GraphError);
  EXPECT_THROW(model.forward(good, cross, tokens, tokens), ShapeError);
  EXPECT_THROW(model.forward(good, cross, encoded, encoded), ShapeError);
  EXPECT_THROW(model.forward(schedule("bpt", {{"k", 2}}, {.layers = 2}), cross, tokens, encoded), ConfigError);
  EXPECT_THROW(model.forward(schedule("bpt", {{"k", 2}}, {.layers = 3, .readout = {0}}), cross, tokens, encoded),
               ConfigError);
  EXPECT_THROW(model.forward(schedule("star", {}, {.layers = 3}), cross, tokens, encoded), ConfigError);
  EXPECT_THROW(model.forward(schedule("adaptive_span", {{"max_span", 4}}, {.layers = 3}), cross, tokens, encoded),
               ConfigError);
}

TEST(GraphTransformerDecoder, LearnsToCopyWhatTheEncoderHas) {
  // Token i is to give the encoder's token i, which only cross-attention can bring.
  manual_seed(4);
  const AttentionGraph graph = bpt(8, true);
  const Graph cross = token_cross(graph, graph);
  GraphTransformerDecoder model(
      {.layers = 1,
       .layer = {.dim = 16, .heads = 4, .feed_forward = 32, .num_relations = graph.num_relations(), .pre_norm = true},
       .num_cross_relations = 2});
  Adam optimizer(model.named_parameters(), {.learning_rate = 1e-2});
  const Tensor positions = sinusoidal_positions(graph.graph.num_nodes(), 16);
  const Tensor tokens = index_tensor(graph.tokens);
  double first = 0, last = 0;
  for (int step = 0; step < 150; ++step) {
    const Tensor values = random_tensor(positions.shape(), DType::float32, 10 + static_cast<std::uint64_t>(step));
    optimizer.clear_grad();
    const Tensor y = model.forward(graph.graph, cross, positions * 4, positions * 4 + values);
    const Tensor loss = mean(square(gather_rows(y - values, tokens)));
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  EXPECT_LT(last, 0.4 * first);
}

TEST(GraphTransformerDecoder, NamesWhatDoesNotFit) {
  const Setting setting;
  GraphTransformerDecoder model(setting.options());
  const Graph &graph = setting.decoder.graph, &cross = setting.cross;
  const Tensor h = zeros({graph.num_nodes(), 16}), encoded = zeros({cross.num_src(), 16});
  EXPECT_THROW(model.forward(graph, graph, h, h), GraphError);
  EXPECT_THROW(model.forward(cross, cross, h, encoded), ShapeError);
  EXPECT_THROW(model.forward(graph, cross.reverse(), h, encoded), GraphError);
  EXPECT_THROW(model.forward(graph, cross, h, h), ShapeError);
  EXPECT_THROW(model.forward(graph, cross, encoded, encoded), ShapeError);
  EXPECT_THROW(model.forward(graph, cross, h, zeros({cross.num_src(), 8})), ShapeError);
  GraphTransformerDecoderOptions spanned = setting.options();
  spanned.layer.soft_span = SoftSpan{};
  EXPECT_THROW(GraphTransformerDecoder{spanned}, ConfigError);
  EXPECT_THROW(GraphTransformerDecoder({.layers = 0, .layer = setting.options().layer}), ConfigError);
}

}  // namespace
}  // namespace bough::nn
