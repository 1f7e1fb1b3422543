// Every attention pattern as a model: on the schedule made from its graph, against all nodes computed the plain way.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/graph_transformer.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough::nn {
namespace {

using test::random_tensor;

constexpr std::int64_t dim = 16, layers = 3;

struct Pattern {
  const char* name;
  nlohmann::json specification;
  bool causal;
};

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = [] {
    const std::vector<std::pair<const char*, nlohmann::json>> kinds = {
        {"Bpt", {{"kind", "bpt"}, {"k", 2}}},
        {"BptSlot", {{"kind", "bpt"}, {"k", 1}, {"alignment", "slot"}}},
        {"Full", {{"kind", "full"}}},
        {"Window", {{"kind", "window"}, {"width", 3}}},
        {"SparseFixed", {{"kind", "sparse_fixed"}, {"stride", 4}, {"c", 1}}},
        {"SparseStrided", {{"kind", "sparse_strided"}, {"stride", 4}}},
        {"SparseStridedHeads", {{"kind", "sparse_strided"}, {"stride", 4}, {"split_heads", true}}},
        {"Blocks", {{"kind", "blocks"}, {"size", 5}}},
        {"AdaptiveSpan", {{"kind", "adaptive_span"}, {"max_span", 8}, {"ramp", 4}}},
        {"Hierarchical", {{"kind", "hierarchical"}, {"size", 4}, {"feedback", true}}},
        {"Longformer", {{"kind", "longformer"}, {"width", 2}, {"global", 2}}},
        {"BigBird", {{"kind", "bigbird"}, {"width", 2}, {"global", 1}, {"random", 2}}},
        {"LogSparse", {{"kind", "logsparse"}}},
        {"Dilated", {{"kind", "dilated"}, {"width", 3}, {"dilation", 2}}},
        {"Kary", {{"kind", "kary"}, {"arity", 3}, {"k", 2}}},
        {"Expander", {{"kind", "expander"}, {"degree", 4}}},
        {"Union",
         {{"kind", "union"},
          {"of", {{{"kind", "window"}, {"width", 2}}, {{"kind", "dilated"}, {"width", 2}, {"dilation", 3}}}}}},
        {"Star", {{"kind", "star"}}},
    };
    std::vector<Pattern> result;
    for (const auto& [name, specification] : kinds) {
      result.push_back({name, specification, false});
      if (generators().make(specification)->supports_causal()) result.push_back({name, specification, true});
    }
    return result;
  }();
  return all;
}

GraphTransformerOptions model_options(const AttentionGraph& graph, bool pre_norm = true) {
  return GraphTransformerOptions::for_graph(
      graph, {.layers = layers,
              .layer = {.dim = dim, .heads = 4, .feed_forward = 24, .pre_norm = pre_norm},
              .trained_start = true});
}

/// All nodes in every step, by the definition: what has no in-edges in a stage, and inputs, keep their values.
Tensor plain_forward(const GraphTransformer& model, const AttentionGraph& graph, const Tensor& tokens) {
  std::vector<std::int32_t> starts(graph.kinds.size(), static_cast<std::int32_t>(graph.num_tokens()));
  for (std::size_t i = 0; i < graph.tokens.size(); ++i) {
    starts[static_cast<std::size_t>(graph.tokens[i])] = static_cast<std::int32_t>(i);
  }
  for (std::size_t node = 0; node < starts.size(); ++node) {
    if (graph.kinds[node] == NodeKind::input) starts[node] = graph.covers[node].begin;
  }
  Tensor distances;
  if (graph.soft_span) {
    std::vector<std::int32_t> far;
    const CooView coo = graph.graph.coo();
    for (std::size_t e = 0; e < coo.src.size(); ++e) far.push_back(std::abs(coo.src[e] - coo.dst[e]));
    distances = Tensor::from_vector(far, {graph.graph.num_edges()});
  }
  Tensor h = gather_rows(concatenate({tokens, model.start}, 0), index_tensor(IdArray(starts)));
  const std::int64_t stages = model.options().stages;
  for (std::int64_t layer = 0; layer < model.num_layers(); ++layer) {
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      LayerStep everything;
      everything.graphs = !graph.stages.empty()
                              ? std::vector<Graph>{graph.stages[static_cast<std::size_t>(stage)]}
                              : (graph.head_groups.empty() ? std::vector<Graph>{graph.graph} : graph.head_groups);
      everything.distances = distances;
      const Tensor updated = model.layer(layer, stage).forward(everything, h);
      if (graph.stages.empty()) {
        h = updated;
        continue;
      }
      const std::vector<std::int64_t> degrees = everything.graphs.front().in_degrees();
      std::vector<std::int32_t> rows(degrees.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i] = static_cast<std::int32_t>(degrees[i] > 0 ? i : rows.size() + i);
      }
      h = gather_rows(concatenate({updated, h}, 0), index_tensor(IdArray(rows)));
    }
  }
  return model.finish(h);
}

class Models : public testing::TestWithParam<Pattern> {
 protected:
  AttentionGraph graph(std::int64_t length) const {
    return generators().make(GetParam().specification)->build({.length = length, .causal = GetParam().causal});
  }
};

TEST_P(Models, OnSchedulesEqualAllNodesComputedThePlainWay) {
  for (const bool pre_norm : {false, true}) {
    for (const std::int64_t length : {1, 2, 23}) {
      manual_seed(3);
      const AttentionGraph one = graph(length);
      GraphTransformer model(model_options(one, pre_norm));
      {
        const NoGrad no_grad;
        model.start.assign(random_tensor({1, dim}, DType::float32, 9));
      }
      for (const std::vector<std::int32_t>& readout :
           {one.tokens, one.readout, std::vector<std::int32_t>{one.tokens.back()}}) {
        const auto gradients = [&](const Tensor& y, const Tensor& tokens) {
          model.clear_grad();
          sum(square(y)).backward();
          std::vector<Tensor> all{y.detach(), tokens.grad()};
          // A parameter that the read-out does not depend on may have no gradient at all instead of zeros.
          for (const Tensor& parameter : model.parameters()) {
            all.push_back(parameter.grad().defined() ? parameter.grad() : zeros_like(parameter));
          }
          return all;
        };
        const auto inputs = [&] {
          Tensor tokens = random_tensor({length, dim}, DType::float32, 7);
          tokens.set_requires_grad(true);
          return tokens;
        };
        const Tensor a = inputs(), b = inputs();
        const auto expected = gradients(gather_rows(plain_forward(model, one, a), index_tensor(IdArray(readout))), a);
        const auto found =
            gradients(model.forward(make_layer_schedule(one, {.layers = layers, .readout = IdArray(readout)}), b), b);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          test::expect_close(found[i], expected[i], test::Tolerance{2e-3, 2e-3});
        }
      }
    }
  }
}

TEST_P(Models, OfABatchEqualTheSequencesOneByOne) {
  manual_seed(4);
  const std::vector<std::int64_t> lengths{5, 1, 12};
  const auto generator = generators().make(GetParam().specification);
  const AttentionGraph batch = build_batch(*generator, lengths, GetParam().causal);
  const GraphTransformer model(model_options(batch));
  const Tensor tokens = random_tensor({18, dim}, DType::float32, 8);
  const Tensor together = model.forward(make_layer_schedule(batch, {.layers = layers}), tokens);
  std::int64_t first = 0;
  for (const std::int64_t length : lengths) {
    const LayerSchedule schedule = make_layer_schedule(graph(length), {.layers = layers});
    test::expect_close(together.rows(first, first + length),
                       model.forward(schedule, tokens.rows(first, first + length)));
    first += length;
  }
}

TEST_P(Models, WithACausalGraphDoNotSeeTheFuture) {
  if (!GetParam().causal) return;
  manual_seed(5);
  const AttentionGraph one = graph(20);
  const GraphTransformer model(model_options(one));
  const LayerSchedule schedule = make_layer_schedule(one, {.layers = layers});
  Tensor tokens = random_tensor({20, dim}, DType::float32, 6);
  const Tensor before = model.forward(schedule, tokens).rows(0, 9);
  tokens.rows(9, 20).fill(3);
  test::expect_same_bits(model.forward(schedule, tokens).rows(0, 9), before);
}

TEST_P(Models, Learn) {
  manual_seed(6);
  const AttentionGraph one = graph(20);
  GraphTransformer model(model_options(one));
  const LayerSchedule schedule = make_layer_schedule(one, {.layers = layers});
  Adam optimizer(model.named_parameters(), {.learning_rate = 5e-3});
  const Tensor tokens = random_tensor({20, dim}, DType::float32, 6);
  const Tensor target = random_tensor({20, dim}, DType::float32, 7);
  double first = 0, last = 0;
  for (int step = 0; step < 40; ++step) {
    optimizer.clear_grad();
    const Tensor loss = mean(square(model.forward(schedule, tokens) - target));
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  EXPECT_LT(last, 0.5 * first);
}

INSTANTIATE_TEST_SUITE_P(Patterns, Models, testing::ValuesIn(patterns()), [](const auto& instance) {
  return std::string(instance.param.name) + (instance.param.causal ? "Causal" : "");
});

TEST(SegmentMemory, GivesWhatOnePassOverTheWholeTextGives) {
  // Token i of a segment sees the segment up to i and the m tokens before the segment, whose states are those of the
  // same layer: the same as one graph over the whole text with just these edges.
  constexpr std::int64_t segment = 6, remembered = 4, segments = 3, length = segment * segments;
  const auto generator = generators().make("memory", {{"length", remembered}});
  const AttentionGraph with = generator->build({.length = segment, .causal = true});
  const AttentionGraph without =
      generators().make("memory", {{"length", 0}})->build({.length = segment, .causal = true});
  manual_seed(7);
  const GraphTransformer model(model_options(with, false));

  std::vector<std::int32_t> src, dst, types;
  for (std::int32_t token = 0; token < length; ++token) {
    const auto begin = static_cast<std::int32_t>(token / segment * segment);
    for (std::int32_t seen = std::max<std::int32_t>(0, begin - remembered); seen <= token; ++seen) {
      src.push_back(seen);
      dst.push_back(token);
      types.push_back(std::max(0, 2 * (token - seen) - 1));  // how distances are numbered
    }
  }
  const Graph whole = Graph::from_edges(src, dst, {.num_nodes = length, .edge_types = types});
  const Tensor tokens = random_tensor({length, dim}, DType::float32, 6);
  const Tensor expected = model.forward(whole, tokens);

  SegmentMemory memory;
  for (std::int64_t i = 0; i < segments; ++i) {
    const LayerSchedule schedule =
        make_layer_schedule(i == 0 ? without : with, {.layers = layers, .memory = remembered});
    const Tensor y = model.forward(schedule, tokens.rows(i * segment, (i + 1) * segment), {.memory = &memory});
    test::expect_close(y, expected.rows(i * segment, (i + 1) * segment));
    ASSERT_EQ(memory.layers.size(), static_cast<std::size_t>(layers));
    EXPECT_EQ(memory.layers[1].shape(), Shape({remembered, dim}));
    EXPECT_FALSE(memory.layers[1].requires_grad());
  }
}

TEST(SegmentMemory, OfABatchBelongsToItsSequences) {
  const auto generator = generators().make("memory", {{"length", 3}});
  const std::vector<std::int64_t> lengths{4, 4};
  const AttentionGraph one = generator->build({.length = 4, .causal = true});
  const AttentionGraph two = build_batch(*generator, lengths, true);
  manual_seed(8);
  const GraphTransformer model(model_options(one));
  const Tensor tokens = random_tensor({8, dim}, DType::float32, 6);
  SegmentMemory both;
  std::vector<SegmentMemory> each(2);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const Tensor rows = random_tensor({6, dim}, DType::float32, 20 + static_cast<std::uint64_t>(layer));
    both.layers.push_back(rows);
    for (std::int64_t i = 0; i < 2; ++i)
      each[static_cast<std::size_t>(i)].layers.push_back(rows.rows(3 * i, 3 * i + 3));
  }
  const Tensor together = model.forward(make_layer_schedule(two, {.layers = layers}), tokens, {.memory = &both});
  for (std::int64_t i = 0; i < 2; ++i) {
    SegmentMemory& own = each[static_cast<std::size_t>(i)];
    test::expect_close(together.rows(4 * i, 4 * i + 4), model.forward(make_layer_schedule(one, {.layers = layers}),
                                                                      tokens.rows(4 * i, 4 * i + 4), {.memory = &own}));
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
      test::expect_close(both.layers[layer].rows(3 * i, 3 * i + 3), own.layers[layer]);
    }
  }
}

TEST(SegmentMemory, SaysWhatIsMissing) {
  const AttentionGraph graph = generators().make("memory", {{"length", 3}})->build({.length = 4, .causal = true});
  const GraphTransformer model(model_options(graph));
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = layers});
  const Tensor tokens = zeros({4, dim});
  EXPECT_THROW(model.forward(schedule, tokens), ConfigError);
  SegmentMemory wrong{std::vector<Tensor>(static_cast<std::size_t>(layers), zeros({2, dim}))};
  EXPECT_THROW(model.forward(schedule, tokens, {.memory = &wrong}), ShapeError);
}

TEST(AdaptiveSpan, ShrinksUnderItsPenaltyAndCanBeRead) {
  const AttentionGraph graph =
      generators().make("adaptive_span", {{"max_span", 10}, {"ramp", 2}})->build({.length = 24, .causal = true});
  manual_seed(9);
  GraphTransformer model(model_options(graph));
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = layers});
  const Tensor tokens = random_tensor({24, dim}, DType::float32, 6);
  const std::vector<double> before = model.layer(0).attention.spans();
  for (const double span : before) EXPECT_NEAR(span, 2.5, 1e-5);
  Adam optimizer(model.named_parameters(), {.learning_rate = 5e-2});
  for (int step = 0; step < 30; ++step) {
    optimizer.clear_grad();
    (mean(square(model.forward(schedule, tokens))) * 1e-3 + model.span_penalty()).backward();
    optimizer.step();
  }
  for (const double span : model.layer(0).attention.spans()) EXPECT_LT(span, 1.5);
}

TEST(AdaptiveSpan, DoesNotSeeBeyondItsReach) {
  const AttentionGraph graph =
      generators().make("adaptive_span", {{"max_span", 12}, {"ramp", 2}})->build({.length = 24, .causal = true});
  manual_seed(10);
  GraphTransformer model(model_options(graph));
  {
    const NoGrad no_grad;
    // z = 12 * sigmoid(-1.2) = 2.8: weight above 0 for distances up to 4.
    for (std::int64_t i = 0; i < layers; ++i) model.layer(i).attention.span_logits.fill(-1.2);
  }
  Tensor tokens = random_tensor({24, dim}, DType::float32, 6);
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = layers, .readout = {23}});
  const Tensor before = model.forward(schedule, tokens);
  tokens.rows(0, 23 - 4 * layers).fill(5);
  test::expect_same_bits(model.forward(schedule, tokens), before);
  tokens.rows(23 - 4 * layers, 24 - 4 * layers).fill(5);
  EXPECT_NE(model.forward(schedule, tokens).to_vector<float>(), before.to_vector<float>());
}

TEST(LayerSchedule, OfTheLastLayerComputeOnlyWhatIsRead) {
  const AttentionGraph graph = generators().make("bpt", {{"k", 2}})->build({.length = 64, .causal = true});
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = 4});
  EXPECT_EQ(schedule.layers.back().front().graphs.front().num_dst(), 64);
  EXPECT_GT(schedule.layers.front().front().graphs.front().num_dst(), 64);
  // The two layers in the middle need the same nodes and share their graph.
  EXPECT_TRUE(schedule.layers[1].front().graphs.front().same_as(schedule.layers[2].front().graphs.front()));
}

TEST(LayerSchedule, RefuseWhatDoesNotFit) {
  const AttentionGraph star = generators().make("star", {})->build({.length = 6});
  EXPECT_THROW(make_layer_schedule(star, {.layers = 0}), ConfigError);
  EXPECT_THROW(make_layer_schedule(star, {.layers = 1, .readout = {99}}), GraphError);
  GraphTransformerOptions options = model_options(star);
  options.stages = 1;
  const GraphTransformer one_stage(options);
  EXPECT_THROW(one_stage.forward(make_layer_schedule(star, {.layers = layers}), zeros({6, dim})), ConfigError);
  const GraphTransformer model(model_options(star));
  EXPECT_THROW(model.forward(make_layer_schedule(star, {.layers = layers}), zeros({7, dim})), ShapeError);
  EXPECT_THROW(model.forward(make_layer_schedule(star, {.layers = 2}), zeros({6, dim})), ConfigError);
  EXPECT_THROW(model.forward(star.graph, zeros({star.graph.num_nodes(), dim})), ConfigError);
}

}  // namespace
}  // namespace bough::nn
