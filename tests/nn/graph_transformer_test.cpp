#include "bough/nn/graph_transformer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"
#include "bough/ops/softmax.h"
#include "tests/support/compare.h"
#include "tests/support/peak_memory.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough::nn {
namespace {

using test::random_tensor;

AttentionGraph bpt(std::int64_t length, bool causal, int k = 2) {
  return generators().make("bpt", {{"k", k}})->build({.length = length, .causal = causal});
}

TEST(GraphSelfAttention, OnAFullGraphIsPlainMultiHeadAttention) {
  manual_seed(1);
  constexpr std::int64_t n = 13, dim = 24, heads = 3, width = dim / heads;
  GraphSelfAttention attention({.dim = dim, .heads = heads, .ignore_relations = true, .bias = true});
  const Tensor h = random_tensor({n, dim}, DType::float32, 5);
  const Graph full = generators().make("full", {})->build({.length = n, .causal = false}).graph;
  const auto split = [&](const Tensor& x) { return transpose(x.reshape({n, heads, width}), 0, 1); };
  const Tensor scores =
      matmul(split(attention.query.forward(h)), split(attention.key.forward(h)), {.transpose_b = true}) /
      std::sqrt(static_cast<double>(width));
  const Tensor joined = transpose(matmul(softmax(scores), split(attention.value.forward(h))), 0, 1);
  test::expect_close(attention.forward(full, h), attention.output.forward(joined.reshape({n, dim})));
}

TEST(GraphSelfAttention, ScalesByTheHeadOrByTheModel) {
  const Graph graph = bpt(9, false).graph;
  const Tensor h = random_tensor({graph.num_nodes(), 16}, DType::float32, 5);
  const auto run = [&](GraphSelfAttentionOptions::Scale scale, double factor) {
    manual_seed(3);
    GraphSelfAttention attention({.dim = 16, .heads = 4, .ignore_relations = true, .scale = scale});
    const NoGrad no_grad;
    attention.query.weight.assign((attention.query.weight * factor).detach());
    return attention.forward(graph, h);
  };
  using Scale = GraphSelfAttentionOptions::Scale;
  test::expect_close(run(Scale::dim, 2), run(Scale::head_dim, 1));
}

/// Head groups have edges of their own, and the learned reach changes weights: what forward does follows from them.
TEST(GraphSelfAttention, ShowsTheWeightsWithWhichItAttends) {
  for (const nlohmann::json& pattern :
       {nlohmann::json({{"kind", "bpt"}, {"k", 2}}),
        nlohmann::json({{"kind", "sparse_strided"}, {"stride", 3}, {"split_heads", true}})}) {
    manual_seed(1);
    const AttentionGraph graph = generators().make(pattern)->build({.length = 11, .causal = true});
    GraphSelfAttention attention({.dim = 16, .heads = 4, .num_relations = graph.num_relations()});
    const Tensor h = random_tensor({graph.graph.num_nodes(), 16}, DType::float32, 5);
    const std::vector<Graph> graphs = graph.head_groups.empty() ? std::vector{graph.graph} : graph.head_groups;
    const std::vector<Tensor> weights = attention.weights(graphs, h);
    ASSERT_EQ(weights.size(), graphs.size());
    const NoGrad no_grad;
    const Tensor values = attention.value.forward(h).reshape({h.size(0), 4, 4});
    std::vector<Tensor> heads;
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      const std::int64_t of_group = weights[g].size(1), begin = static_cast<std::int64_t>(g) * of_group;
      const Tensor per_edge = weights[g].reshape({graphs[g].num_edges(), of_group, 1});
      heads.push_back(
          gspmm(graphs[g], BinaryOp::mul, ReduceOp::sum, slice(values, 1, begin, begin + of_group), per_edge));
    }
    const Tensor joined = concatenate(heads, 1).reshape({h.size(0), 16});
    test::expect_close(attention.forward(graphs, h, AttentionRows{}), attention.output.forward(joined));
  }
}

TEST(GraphTransformer, StepsNameTheNodesWhoseWeightsTheyShow) {
  manual_seed(1);
  const AttentionGraph graph = bpt(11, false);
  const GraphTransformer model(
      GraphTransformerOptions::for_graph(graph, {.layers = 2, .layer = {.dim = 8, .heads = 2, .pre_norm = true}}));
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = 2, .readout = graph.readout});
  std::vector<Tensor> first;
  std::int64_t last = -1;
  const Tensor tokens = random_tensor({11, 8}, DType::float32, 5);
  const NoGrad no_grad;
  model.forward(schedule, tokens, {.before_step = [&](std::int64_t layer, std::int64_t stage, const Tensor& live) {
                  EXPECT_EQ(layer, ++last);
                  EXPECT_EQ(stage, 0);
                  if (layer == 0) first = model.layer(0).attention_weights(schedule.layers[0][0], live);
                }});
  EXPECT_EQ(last, 1);
  // The same on the whole graph, whose other nodes start from zeros.
  ASSERT_EQ(graph.tokens.back(), 10) << "tokens come first";
  const Tensor all = concatenate({tokens, zeros({graph.graph.num_nodes() - 11, 8})}, 0);
  const std::vector<float> expected =
      model.layer(0)
          .attention.weights(std::span(&graph.graph, 1), model.layer(0).attention_norm.forward(all))[0]
          .to_vector<float>();
  const CooView edges = graph.graph.coo();
  std::map<std::pair<int, int>, std::size_t> place;
  for (std::size_t e = 0; e < edges.src.size(); ++e) place[{edges.src[e], edges.dst[e]}] = e;
  const LayerStep& step = schedule.layers[0][0];
  const CooView seen = step.graphs[0].coo();
  const std::vector<float> weights = first[0].to_vector<float>();
  EXPECT_LT(step.updated_nodes.size(), graph.graph.num_nodes()) << "the root needs no level above it";
  for (std::size_t e = 0; e < seen.src.size(); ++e) {
    const std::size_t same = place.at({step.source_nodes.span()[static_cast<std::size_t>(seen.src[e])],
                                       step.updated_nodes.span()[static_cast<std::size_t>(seen.dst[e])]});
    for (std::size_t head = 0; head < 2; ++head) EXPECT_NEAR(weights[2 * e + head], expected[2 * same + head], 1e-5);
  }
}

TEST(GraphSelfAttention, ALargerRelationTableServesShorterSequences) {
  manual_seed(4);
  const auto generator = generators().make("bpt", {{"k", 2}});
  GraphSelfAttention attention({.dim = 8, .heads = 2, .num_relations = generator->num_relations(64)});
  for (const std::int64_t length : {1, 7, 64}) {
    const Graph graph = generator->build({.length = length, .causal = true}).graph;
    EXPECT_EQ(attention.forward(graph, zeros({graph.num_nodes(), 8})).size(0), graph.num_nodes());
  }
  const Graph longer = generator->build({.length = 300, .causal = true}).graph;
  EXPECT_THROW(attention.forward(longer, zeros({longer.num_nodes(), 8})), ShapeError);
}

TEST(GraphTransformer, WithoutATapeGoesBlockByBlockOfHeadsToTheSameResultInLessMemory) {
  for (const bool pre_norm : {false, true}) {
    manual_seed(6);
    const AttentionGraph graph = bpt(3000, true);
    const LayerSchedule schedule = make_layer_schedule(graph, {.layers = 3});
    const GraphTransformer model({.layers = 3,
                                  .layer = {.dim = 256,
                                            .heads = 8,
                                            .feed_forward = 512,
                                            .num_relations = graph.num_relations(),
                                            .pre_norm = pre_norm,
                                            .attention_bias = true}});
    const Tensor tokens = random_tensor({3000, 256}, DType::float32, 7);
    const Tensor whole = model.forward(schedule, tokens).detach();
    const NoGrad no_grad;
    model.forward(schedule, tokens);  // plans and packed buffers are there now
    const std::int64_t peak = test::peak_bytes([&] { test::expect_close(model.forward(schedule, tokens), whole); });
    const std::int64_t nodes = graph.graph.num_nodes() * 256 * static_cast<std::int64_t>(sizeof(float));
    // What is read, all heads joined and in blocks, a block's queries, keys and values; scratch of the kernels.
    EXPECT_LT(peak, 6 * nodes);
  }
}

TEST(GraphSelfAttention, RefusesHeadsThatDoNotDivide) {
  EXPECT_THROW(GraphSelfAttention({.dim = 10, .heads = 3}), ConfigError);
  EXPECT_THROW(GraphSelfAttention({.dim = 0}), ConfigError);
}

class Pruning : public testing::TestWithParam<bool> {};

TEST_P(Pruning, OfWhatIsNotReadChangesNeitherResultNorGradient) {
  manual_seed(2);
  for (const bool causal : {false, true}) {
    const AttentionGraph graph = bpt(37, causal);
    GraphTransformer model({.layers = 3,
                            .layer = {.dim = 16,
                                      .heads = 2,
                                      .feed_forward = 24,
                                      .num_relations = graph.num_relations(),
                                      .pre_norm = GetParam()}});
    const Tensor tokens = random_tensor({37, 16}, DType::float32, 6);
    const Tensor h = scatter_add_rows(tokens, index_tensor(graph.tokens), graph.graph.num_nodes());
    const LayerSchedule schedule = make_layer_schedule(graph, {.layers = 3});
    EXPECT_LT(schedule.layers.back().back().graphs.front().num_dst(), graph.graph.num_nodes());

    const Tensor whole = gather_rows(model.forward(graph.graph, h), index_tensor(graph.tokens));
    sum(square(whole)).backward();
    const Tensor expected = model.layer(0).attention.relation_keys.grad().clone();
    model.clear_grad();
    const Tensor pruned = model.forward(schedule, tokens);
    sum(square(pruned)).backward();
    test::expect_close(pruned, whole);
    test::expect_close(model.layer(0).attention.relation_keys.grad(), expected, test::Tolerance{1e-3, 1e-3});
  }
}

INSTANTIATE_TEST_SUITE_P(Norms, Pruning, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "PreNorm" : "PostNorm"; });

TEST(GraphTransformer, CausalGraphsLetNothingThroughFromTheFuture) {
  manual_seed(5);
  const AttentionGraph graph = bpt(24, true);
  GraphTransformer model(
      {.layers = 4, .layer = {.dim = 8, .heads = 2, .feed_forward = 16, .num_relations = graph.num_relations()}});
  Tensor h = random_tensor({graph.graph.num_nodes(), 8}, DType::float32, 6);
  const Tensor before = model.forward(graph.graph, h).rows(0, 10);
  h.rows(10, 24).fill(3);
  // All span nodes start from the same vector, so only tokens change.
  test::expect_same_bits(model.forward(graph.graph, h).rows(0, 10), before);
}

TEST(GraphTransformer, TrainsTheSameBitsForAnyNumberOfThreads) {
  const AttentionGraph graph = bpt(200, true, 4);
  test::expect_same_bits_for_threads([&] {
    manual_seed(7);
    GraphTransformer model({.layers = 2,
                            .layer = {.dim = 32,
                                      .heads = 4,
                                      .feed_forward = 64,
                                      .num_relations = graph.num_relations(),
                                      .dropout = 0.1,
                                      .attention_dropout = 0.1}});
    Adam optimizer(model.named_parameters(), {.clip_norm = 1});
    const Tensor h = random_tensor({graph.graph.num_nodes(), 32}, DType::float32, 6);
    const Tensor target = random_tensor({graph.graph.num_nodes(), 32}, DType::float32, 7);
    for (int step = 0; step < 3; ++step) {
      optimizer.clear_grad();
      mean(square(model.forward(graph.graph, h) - target)).backward();
      optimizer.step();
    }
    return model.layer(1).feed_forward.named_parameters()[0].second.detach();
  });
}

TEST(GraphTransformer, StepsInSteadyStateDoNotReachTheSystemAllocator) {
  // One thread: with more, how many scratch blocks live at the same moment is a matter of luck.
  const test::ThreadCount one_thread(1);
  const AttentionGraph graph = bpt(100, true);
  GraphTransformer model({.layers = 2,
                          .layer = {.dim = 16,
                                    .heads = 2,
                                    .feed_forward = 32,
                                    .num_relations = graph.num_relations(),
                                    .dropout = 0.1,
                                    .attention_dropout = 0.1}});
  Adam optimizer(model.named_parameters(), {.clip_norm = 1});
  const Tensor h = random_tensor({graph.graph.num_nodes(), 16}, DType::float32, 6);
  const auto step = [&] {
    optimizer.clear_grad();
    mean(square(model.forward(graph.graph, h))).backward();
    optimizer.step();
  };
  step();
  step();
  const std::int64_t before = memory_statistics().system_allocations;
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(memory_statistics().system_allocations, before);
}

TEST(GraphTransformer, LearnsToCopyFromFarAway) {
  // The target of each token is the first token's input, which only the graph's long edges can bring.
  manual_seed(8);
  const AttentionGraph graph = bpt(32, true);
  const IdArray readout = graph.tokens;
  GraphTransformer model(
      {.layers = 2,
       .layer = {.dim = 16, .heads = 2, .feed_forward = 32, .num_relations = graph.num_relations(), .pre_norm = true}});
  Adam optimizer(model.named_parameters(), {.learning_rate = 5e-3});
  double first = 0, last = 0;
  for (int step = 0; step < 120; ++step) {
    const Tensor tokens = random_tensor({32, 16}, DType::float32, 100 + static_cast<std::uint64_t>(step));
    const Tensor spans = zeros({graph.graph.num_nodes() - 32, 16});
    const Tensor wanted = broadcast_to(tokens.rows(0, 1), {32, 16});
    optimizer.clear_grad();
    const Tensor y = gather_rows(model.forward(graph.graph, concatenate({tokens, spans}, 0)), index_tensor(readout));
    const Tensor loss = mean(square(y - wanted));
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  EXPECT_LT(last, 0.5 * first);
}

}  // namespace
}  // namespace bough::nn
