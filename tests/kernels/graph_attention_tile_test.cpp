#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/random.h"
#include "bough/graph/batch.h"
#include "bough/graph/graph_generator.h"
#include "bough/ops/attention_plan.h"
#include "bough/ops/graph_attention.h"
#include "kernels/attention/views.h"
#include "kernels/reference/graph_attention.h"
#include "tests/kernels/graph_attention_cases.h"
#include "tests/support/compare.h"
#include "tests/support/peak_memory.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

/// Tiles against the definition, and against the row kernel where that has been held to it.
namespace bough {
namespace {

using test::attend;
using test::attention_case;
using test::AttentionCase;
using test::AttentionSizes;
using test::expect_close;
using test::gradients_of;
using test::random_tensor;

Graph pattern(const char* kind, const nlohmann::json& parameters, std::int64_t length, bool causal) {
  return generators().make(kind, parameters)->build({.length = length, .causal = causal}).graph;
}

struct NamedGraph {
  std::string name;
  Graph graph;
};

/// Graphs whose edges run in tiles, of every kind of tile.
std::vector<NamedGraph> tiled_graphs() {
  std::vector<NamedGraph> graphs;
  for (const char* alignment : {"slot", "pair"}) {
    for (const bool causal : {true, false}) {
      for (const int k : {1, 4, 20}) {
        for (const int length : {1, 37, 300}) {
          graphs.push_back({testing::PrintToString(k) + alignment + testing::PrintToString(length),
                            pattern("bpt", {{"k", k}, {"alignment", alignment}}, length, causal)});
        }
      }
    }
  }
  graphs.push_back({"window", pattern("window", {{"width", 30}}, 200, true)});
  graphs.push_back({"full", pattern("full", {{"max_distance", 20}}, 70, false)});
  graphs.push_back({"full, causal", pattern("full", {{"max_distance", 100}}, 300, true)});
  graphs.push_back({"blocks", pattern("blocks", {{"size", 24}}, 130, false)});
  graphs.push_back({"longformer", pattern("longformer", {{"width", 24}, {"global", 2}}, 150, false)});
  graphs.push_back(
      {"bigbird", pattern("bigbird", {{"width", 20}, {"global", 2}, {"random", 2}, {"seed", 1}}, 150, false)});
  const Graph tree = pattern("bpt", {{"k", 2}}, 45, false), other = pattern("bpt", {{"k", 2}}, 90, false);
  graphs.push_back({"a batch", batch({tree, other, tree})});
  return graphs;
}

AttentionCase tile_case(const Graph& graph, DType dtype, AttentionSizes sizes, bool relations) {
  AttentionCase c = attention_case(graph, dtype, sizes, {.relation_keys = relations && !graph.edge_types().empty()});
  c.options.kernel = AttentionKernel::tile;
  return c;
}

AttentionCase by_rows(AttentionCase c) {
  c.options.kernel = AttentionKernel::row;
  return c;
}

TEST(GraphAttentionTiles, MatchTheReference) {
  for (const auto& [name, graph] : tiled_graphs()) {
    SCOPED_TRACE(name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const bool relations : {false, true}) {
        const AttentionCase c = tile_case(graph, dtype, {2, 16, 16}, relations);
        expect_close(attend(c), reference::graph_attention(graph, c.q, c.k, c.v, c.options).out);
      }
    }
  }
}

TEST(GraphAttentionTiles, HaveTheGradientsOfRows) {
  for (const auto& [name, graph] : tiled_graphs()) {
    SCOPED_TRACE(name);
    for (const bool relations : {false, true}) {
      const AttentionCase c = tile_case(graph, DType::float64, {2, 12, 10}, relations);
      const std::vector<Tensor> tiles = gradients_of(c), rows = gradients_of(by_rows(c));
      for (std::size_t i = 0; i < tiles.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "gradient " << i);
        expect_close(tiles[i], rows[i], {.relative = 1e-9, .absolute = 1e-9});
      }
    }
  }
}

TEST(GraphAttentionTiles, FollowDoublePrecisionInFloat) {
  const Graph graph = pattern("bpt", {{"k", 8}}, 500, true);
  const AttentionCase single = tile_case(graph, DType::float32, {2, 64, 64}, true);
  AttentionCase twice = by_rows(single);
  for (Tensor* tensor : test::tensors_of(twice)) {
    *tensor = Tensor::from_vector(tensor->to_vector<double>(), tensor->shape());
  }
  const std::vector<Tensor> actual = gradients_of(single), expected = gradients_of(twice);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    expect_close(actual[i], expected[i], {.relative = 1e-4, .absolute = i == 3 ? 1e-3 : 1e-4});
  }
}

TEST(GraphAttentionTiles, TakeAnyWidthOnEveryInstructionSet) {
  const Graph graph = pattern("bpt", {{"k", 3}}, 120, false);
  for (const AttentionSizes sizes : {AttentionSizes{1, 1, 1}, {2, 5, 19}, {1, 33, 8}, {3, 48, 40}, {1, 64, 64}}) {
    SCOPED_TRACE(testing::Message() << sizes.width << ", " << sizes.value_width);
    const AttentionCase c = tile_case(graph, DType::float64, sizes, true);
    const std::vector<Tensor> expected = gradients_of(by_rows(c));
    test::on_every_simd_target([&] {
      expect_close(attend(c), reference::graph_attention(graph, c.q, c.k, c.v, c.options).out);
      const std::vector<Tensor> actual = gradients_of(c);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        expect_close(actual[i], expected[i], {.relative = 1e-9, .absolute = 1e-9});
      }
    });
  }
}

TEST(GraphAttentionTiles, TakeRelationKeysPerHead) {
  const Graph graph = pattern("bpt", {{"k", 4}}, 200, true);
  AttentionCase c = attention_case(graph, DType::float64, {3, 8, 8}, {.relation_keys = true, .keys_per_head = true});
  c.options.kernel = AttentionKernel::tile;
  expect_close(attend(c), reference::graph_attention(graph, c.q, c.k, c.v, c.options).out);
  const std::vector<Tensor> tiles = gradients_of(c), rows = gradients_of(by_rows(c));
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    expect_close(tiles[i], rows[i], {.relative = 1e-9, .absolute = 1e-9});
  }
}

TEST(GraphAttentionTiles, ServeHeadGroups) {
  const std::vector<Graph> graphs{pattern("bpt", {{"k", 4}}, 100, true), pattern("bpt", {{"k", 2}}, 100, true)};
  AttentionCase c =
      attention_case(graphs[0], DType::float64, {4, 8, 8}, {.relation_keys = true, .keys_per_head = true});
  c.options.kernel = AttentionKernel::tile;
  const Tensor tiles = graph_attention(graphs, c.q, c.k, c.v, c.options);
  c.options.kernel = AttentionKernel::row;
  expect_close(tiles, graph_attention(graphs, c.q, c.k, c.v, c.options));
}

TEST(GraphAttentionTiles, DropTheSameEdgesAsRows) {
  for (const Graph& graph : {pattern("bpt", {{"k", 4}}, 150, true), pattern("window", {{"width", 40}}, 120, false)}) {
    AttentionCase c = tile_case(graph, DType::float64, {2, 8, 8}, true);
    c.options.dropout = 0.3;
    const auto with_seed = [&](AttentionCase used) {
      RandomGenerator generator(3);
      used.options.generator = &generator;
      return gradients_of(used);
    };
    const std::vector<Tensor> tiles = with_seed(c), rows = with_seed(by_rows(c));
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      expect_close(tiles[i], rows[i], {.relative = 1e-9, .absolute = 1e-9});
    }
  }
}

/// Whether each edge of a graph without parallel ones is kept in each of two heads: in forward, where each source has a
/// value of its own, and in backward, where each destination has a gradient of its own.
void expect_dropped_as_defined(const Graph& graph, DType dtype, AttentionKernel kernel, bool relations) {
  const std::int64_t nodes = graph.num_dst(), heads = 2;
  RandomGenerator generator;
  generator.set_state({.seed = 0x9876543212345678u, .stream = 0xABCDEF0123456789u});
  const AttentionDropout dropout{.threshold = 0x60000000u, .stream = generator.state()};
  AttentionCase c = attention_case(graph, dtype, {heads, 4, nodes}, {.relation_keys = relations});
  std::vector<float> one_hot(static_cast<std::size_t>(nodes * heads * nodes));
  for (std::int64_t i = 0; i < nodes * heads; ++i) one_hot[static_cast<std::size_t>(i * nodes + i / heads)] = 1;
  c.v = Tensor::from_vector(one_hot, {nodes, heads, nodes});
  if (dtype == DType::float64) c.v = Tensor::from_vector(c.v.to_vector<double>(), c.v.shape());
  c.v.set_requires_grad(true);
  c.options.dropout = 0.375;
  c.options.generator = &generator;
  c.options.kernel = kernel;
  const Tensor out = attend(c);
  out.backward({.gradient = c.v.detach()});
  const auto forward = out.to_vector<double>(), backward = c.v.grad().to_vector<double>();
  const CooView edges = graph.coo();
  std::int64_t wrong = 0;
  for (std::size_t e = 0; e < edges.src.size(); ++e) {
    const std::int64_t src = edges.src[e], dst = edges.dst[e];
    for (std::int64_t h = 0; h < heads; ++h) {
      const bool keeps = dropout.keeps(edges.src[e], edges.dst[e], h, 0);
      wrong += (forward[static_cast<std::size_t>((dst * heads + h) * nodes + src)] != 0) != keeps;
      wrong += (backward[static_cast<std::size_t>((src * heads + h) * nodes + dst)] != 0) != keeps;
    }
  }
  EXPECT_EQ(wrong, 0) << "of " << edges.src.size() << " edges";
}

TEST(GraphAttentionTiles, AndRowsDropWhatTheEdgesNumbersSayOnEveryInstructionSet) {
  for (const auto& [name, graph] : tiled_graphs()) {
    if (graph.num_dst() > 200) continue;  // the work grows as edges times nodes
    SCOPED_TRACE(name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const AttentionKernel kernel : {AttentionKernel::tile, AttentionKernel::row}) {
        test::on_every_simd_target(
            [&] { expect_dropped_as_defined(graph, dtype, kernel, !graph.edge_types().empty()); });
      }
    }
  }
}

TEST(GraphAttentionTiles, KeepNaNAndInfinityFromRowsThatDoNotAttendToThem) {
  const std::int64_t length = 200, poisoned = 100;
  const Graph graph = pattern("full", {}, length, true);
  for (const float poison : {NAN, INFINITY}) {
    AttentionCase c = tile_case(graph, DType::float32, {1, 16, 16}, false);
    const Tensor clean = attend(c);
    for (Tensor* tensor : {&c.k, &c.v}) {
      auto values = tensor->to_vector<float>();
      std::fill(values.begin() + poisoned * 16, values.begin() + (poisoned + 1) * 16, poison);
      *tensor = Tensor::from_vector(values, tensor->shape());
    }
    const Tensor out = attend(c);
    expect_close(out.rows(0, poisoned), clean.rows(0, poisoned));
    for (const float value : out.rows(poisoned, length).to_vector<float>()) EXPECT_FALSE(std::isfinite(value));
  }
}

TEST(GraphAttentionTiles, KeepGradientsThatAreNotNumbersFromKeysOfOtherRows) {
  const Graph graph = pattern("bpt", {{"k", 4}}, 200, true);
  const std::int64_t poisoned = 100;
  AttentionCase c = tile_case(graph, DType::float32, {1, 16, 16}, true);
  std::vector<float> values(static_cast<std::size_t>(graph.num_dst() * 16), 1.0f);
  std::fill_n(values.begin() + poisoned * 16, 16, NAN);
  c.k.set_requires_grad(true);
  attend(c).backward({.gradient = Tensor::from_vector(values, {graph.num_dst(), 1, 16})});
  std::vector<bool> attended(static_cast<std::size_t>(graph.num_src()), false);
  for (std::size_t e = 0; e < graph.coo().src.size(); ++e) {
    if (graph.coo().dst[e] == poisoned) attended[static_cast<std::size_t>(graph.coo().src[e])] = true;
  }
  const auto elements = c.k.grad().to_vector<float>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    ASSERT_EQ(std::isnan(elements[i]), static_cast<bool>(attended[i / 16])) << "source " << i / 16;
  }
}

TEST(GraphAttentionTiles, SpreadNumbersThatAreNotFiniteNoFurtherThanRowsDo) {
  // One row of q, k, v or d_out is poisoned: gradients of the others are finite wherever those of the row kernel are.
  const Graph graphs[] = {pattern("bpt", {{"k", 4}}, 200, true), pattern("window", {{"width", 20}}, 200, true)};
  for (const Graph& graph : graphs) {
    for (const float poison : {NAN, INFINITY}) {
      for (const int poisoned : {0, 1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << "tensor " << poisoned << ", " << poison);
        AttentionCase c = tile_case(graph, DType::float32, {1, 16, 16}, true);
        Tensor d_out = random_tensor({graph.num_dst(), 1, 16}, DType::float32, 20);
        Tensor* const tensors[] = {&c.q, &c.k, &c.v, &d_out};
        auto values = tensors[poisoned]->to_vector<float>();
        std::fill_n(values.begin() + 100 * 16, 16, poison);
        *tensors[poisoned] = Tensor::from_vector(values, tensors[poisoned]->shape());
        const std::vector<Tensor> tiles = gradients_of(c, d_out), rows = gradients_of(by_rows(c), d_out);
        for (std::size_t i = 0; i < 3; ++i) {
          const auto actual = tiles[i].to_vector<float>(), expected = rows[i].to_vector<float>();
          for (std::size_t j = 0; j < actual.size(); ++j) {
            ASSERT_EQ(std::isfinite(actual[j]), std::isfinite(expected[j])) << "gradient " << i << ", row " << j / 16;
          }
        }
      }
    }
  }
}

TEST(GraphAttentionTiles, SurviveScoresOfTenThousand) {
  AttentionCase c = tile_case(pattern("bpt", {{"k", 4}}, 200, true), DType::float32, {2, 8, 8}, true);
  for (const double scale : {1e4, -1e4}) {
    c.options.scale = scale;
    const Tensor out = attend(c);
    // A score of 10000 is known to 0.001 in float, so weights are to a few thousandths.
    const auto expected = reference::graph_attention(c.graph, c.q, c.k, c.v, c.options).out;
    expect_close(out, Tensor::from_vector(expected, out.shape()), {.relative = 1e-2, .absolute = 1e-2});
  }
}

TEST(GraphAttentionTiles, WalkThroughSeveralStagedBlocks) {
  const Graph graph = pattern("full", {}, 1500, true);
  ASSERT_GT(attention_plan_summary(graph).staged_blocks, 1);
  const AttentionCase c = tile_case(graph, DType::float64, {1, 4, 4}, false);
  const std::vector<Tensor> tiles = gradients_of(c), rows = gradients_of(by_rows(c));
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    expect_close(tiles[i], rows[i], {.relative = 1e-9, .absolute = 1e-9});
  }
}

TEST(GraphAttentionTiles, AreBitwiseEqualForOneTwoAndSevenThreads) {
  for (const Graph& graph : {pattern("bpt", {{"k", 4}}, 3000, true), pattern("full", {}, 1100, true)}) {
    ASSERT_GT(attention_plan_summary(graph, true).tiles, 0);
    const AttentionCase c = tile_case(graph, DType::float32, {3, 16, 16}, true);
    test::expect_same_bits_for_threads(std::function([&] {
      std::vector<Tensor> results = gradients_of(c);
      results.push_back(attend(c));
      return results;
    }));
  }
}

TEST(GraphAttentionTiles, WriteResultsTooLargeForTheCacheAsTheyAre) {
  const Graph graph = pattern("bpt", {{"k", 1}, {"alignment", "slot"}}, 2048, true);
  for (const AttentionSizes sizes : {AttentionSizes{8, 64, 64}, AttentionSizes{8, 63, 68}}) {
    const AttentionCase c = tile_case(graph, DType::float32, sizes, true), rows = by_rows(c);
    expect_close(attend(c), attend(rows));
    const std::vector<Tensor> gradients = gradients_of(c), expected = gradients_of(rows);
    for (std::size_t i = 0; i < 3; ++i) expect_close(gradients[i], expected[i], {.relative = 1e-4, .absolute = 1e-4});
  }
}

TEST(GraphAttentionTiles, NeedNoMemoryOfTheSizeOfTheEdges) {
  const Graph graph = pattern("full", {{"max_distance", 100}}, 1024, true);
  AttentionCase c = tile_case(graph, DType::float32, {8, 16, 16}, true);
  gradients_of(c);  // makes the plan
  const std::int64_t edges_times_heads = graph.num_edges() * 8 * std::int64_t{sizeof(float)};
  EXPECT_LT(test::peak_bytes([&] { gradients_of(c); }), edges_times_heads);
}

TEST(GraphAttentionTiles, SayWhichOptionsTheyTake) {
  const Graph graph = pattern("bpt", {{"k", 4}}, 50, true);
  AttentionCase c = attention_case(graph, DType::float32, {}, {.edge_bias = true});
  c.options.kernel = AttentionKernel::tile;
  EXPECT_THROW(attend(c), ConfigError);
}

}  // namespace
}  // namespace bough
