#include "bough/ops/graph_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/graph/graph_generator.h"
#include "bough/ops/cast.h"
#include "kernels/attention/views.h"
#include "kernels/reference/graph_attention.h"
#include "tests/kernels/graph_attention_cases.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using test::all_extras;
using test::attend;
using test::attention_case;
using test::AttentionCase;
using test::AttentionSizes;
using test::device_name;
using test::DeviceTest;
using test::every_device;
using test::expect_close;
using test::expect_same_bits;
using test::expect_same_bits_for_threads;
using test::moved;
using test::random_tensor;
using test::with_types;

void expect_matches_reference(const AttentionCase& c, Device device = Device::cpu()) {
  expect_close(attend(moved(c, device)), reference::graph_attention(c.graph, c.q, c.k, c.v, c.options).out);
}

Graph full_graph(std::int64_t nodes) {
  std::vector<std::int32_t> src, dst;
  for (std::int32_t i = 0; i < nodes; ++i) {
    for (std::int32_t j = 0; j < nodes; ++j) {
      src.push_back(j);
      dst.push_back(i);
    }
  }
  return Graph::from_edges(src, dst, {.num_nodes = nodes});
}

class GraphAttention : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, GraphAttention, testing::ValuesIn(every_device), device_name);

TEST_P(GraphAttention, MatchesTheReferenceOnEveryGraph) {
  for (const zoo::NamedGraph& named : zoo::all()) {
    SCOPED_TRACE(named.name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      expect_matches_reference(attention_case(named.graph, dtype), device());
    }
  }
}

TEST_P(GraphAttention, TakesEveryOptionOnEveryGraph) {
  for (const zoo::NamedGraph& named : zoo::all()) {
    SCOPED_TRACE(named.name);
    for (const auto& [name, extras] : all_extras()) {
      SCOPED_TRACE(name);
      expect_matches_reference(attention_case(with_types(named.graph, 4), DType::float64, {3, 5, 4}, extras), device());
    }
  }
}

TEST_P(GraphAttention, TakesAnyWidth) {
  const Graph graph = with_types(zoo::random_graph(40, 300, 9), 3);
  for (const AttentionSizes sizes :
       {AttentionSizes{1, 1, 1}, {2, 3, 17}, {1, 64, 64}, {3, 40, 33}, {8, 16, 8}, {2, 7, 0}}) {
    SCOPED_TRACE(testing::Message() << sizes.heads << " heads, " << sizes.width << ", " << sizes.value_width);
    for (const DType dtype : {DType::float32, DType::float64}) {
      expect_matches_reference(attention_case(graph, dtype, sizes, {.relation_keys = true, .relation_values = true}),
                               device());
    }
  }
}

TEST(GraphAttention, WithoutHeadsOrFeaturesIsDefined) {
  const Graph graph = with_types(zoo::causal_window(40, 9), 3);
  for (const AttentionKernel kernel : {AttentionKernel::row, AttentionKernel::tile, AttentionKernel::unfused}) {
    for (const AttentionSizes sizes : {AttentionSizes{0, 4, 4}, {2, 0, 4}, {2, 4, 0}, {0, 0, 0}}) {
      SCOPED_TRACE(testing::Message() << sizes.heads << " heads, " << sizes.width << ", " << sizes.value_width);
      AttentionCase c = attention_case(graph, DType::float64, sizes, {.relation_keys = true});
      c.options.kernel = kernel;
      expect_matches_reference(c);
      const std::vector<Tensor> gradients = test::gradients_of(c);
      for (std::size_t i = 0; i < gradients.size(); ++i)
        EXPECT_EQ(gradients[i].shape(), test::tensors_of(c)[i]->shape());
    }
  }
}

TEST(GraphAttention, AgreesOnEveryInstructionSet) {
  const AttentionCase c = attention_case(with_types(zoo::random_graph(50, 600, 11), 5), DType::float32, {2, 20, 12},
                                         all_extras()[5].second);
  test::on_every_simd_target([&] { expect_matches_reference(c); });
}

TEST(GraphAttention, OnTheFullGraphIsPlainSoftmaxAttention) {
  const std::int64_t nodes = 33, heads = 2, width = 16;
  const AttentionCase c = attention_case(full_graph(nodes), DType::float64, {heads, width, width});
  const auto q = c.q.to_vector<double>(), k = c.k.to_vector<double>(), v = c.v.to_vector<double>();
  std::vector<double> expected(q.size());
  const auto at = [&](std::int64_t node, std::int64_t head, std::int64_t i) {
    return static_cast<std::size_t>((node * heads + head) * width + i);
  };
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < nodes; ++i) {
      std::vector<double> row;
      double total = 0;
      for (std::int64_t j = 0; j < nodes; ++j) {
        double score = 0;
        for (std::int64_t x = 0; x < width; ++x) score += q[at(i, h, x)] * k[at(j, h, x)];
        row.push_back(std::exp(score / 4));
        total += row.back();
      }
      for (std::int64_t j = 0; j < nodes; ++j) {
        for (std::int64_t x = 0; x < width; ++x)
          expected[at(i, h, x)] += row[static_cast<std::size_t>(j)] / total * v[at(j, h, x)];
      }
    }
  }
  expect_close(attend(c), expected);
}

TEST_P(GraphAttention, LeavingAnEdgeOutIsMaskingItWithMinusInfinity) {
  const std::int64_t nodes = 24;
  AttentionCase masked = attention_case(full_graph(nodes), DType::float64, {2, 8, 8});
  std::vector<double> bias;
  std::vector<std::int32_t> src, dst;
  for (std::int32_t i = 0; i < nodes; ++i) {
    for (std::int32_t j = 0; j < nodes; ++j) {
      const bool there = i != 5 && (i * 7 + j * 3) % 4 != 0;  // node 5 has no in-edges
      bias.push_back(there ? 0 : -INFINITY);
      if (!there) continue;
      src.push_back(j);
      dst.push_back(i);
    }
  }
  masked.options.edge_bias = Tensor::from_vector(bias, {nodes * nodes});
  AttentionCase left_out = masked;
  left_out.graph = Graph::from_edges(src, dst, {.num_nodes = nodes});
  left_out.options.edge_bias = {};
  expect_close(attend(moved(masked, device())), attend(left_out));
}

TEST_P(GraphAttention, SurvivesScoresOfTenThousand) {
  AttentionCase c = attention_case(zoo::causal_window(40, 9), DType::float32, {2, 8, 8});
  c.options.scale = 1e4;
  expect_matches_reference(c, device());
  c.options.scale = -1e4;
  expect_matches_reference(c, device());
}

TEST_P(GraphAttention, RowWhoseWeightsAreAllZeroGetsZeros) {
  AttentionCase c = attention_case(zoo::causal_window(10, 3), DType::float32);
  c.options.edge_weights = zeros({c.graph.num_edges()});
  expect_same_bits(attend(moved(c, device())), zeros({10, 2, 8}));
}

TEST_P(GraphAttention, AnEdgeOfWeightZeroIsNoEdgeHoweverLargeItsScore) {
  AttentionCase c = attention_case(zoo::causal_window(10, 3), DType::float32);
  Tensor weights = ones({c.graph.num_edges()}), bias = zeros({c.graph.num_edges()});
  std::vector<std::int32_t> src, dst;
  for (std::int64_t e = 0; e < c.graph.num_edges(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    if (e % 3 == 0) {
      weights.data<float>()[e] = 0;
      bias.data<float>()[e] = 1e4F;
    } else {
      src.push_back(c.graph.coo().src[at]);
      dst.push_back(c.graph.coo().dst[at]);
    }
  }
  AttentionCase left_out = c;
  left_out.graph = Graph::from_edges(src, dst, {.num_nodes = 10});
  c.options.edge_weights = weights;
  c.options.edge_bias = bias;
  c.options.kernel = AttentionKernel::row;
  expect_close(attend(moved(c, device())), attend(left_out));
  const AttentionCase there = moved(c, device());
  for (const float weight : attention_weights(c.graph, there.q, there.k, there.options).to_vector<float>()) {
    EXPECT_TRUE(weight >= 0 && weight <= 1) << weight;
  }
}

TEST_P(GraphAttention, SplitsRowsWithoutChangingTheResult) {
  const Graph graph = zoo::split_row(on_cpu() ? 100'000 : 900, true);  // a GPU splits rows of more than 256 edges
  expect_matches_reference(attention_case(with_types(graph, 3), DType::float32, {2, 8, 8}, {.relation_keys = true}),
                           device());
}

TEST(GraphAttention, IsBitwiseEqualForOneTwoAndSevenThreads) {
  for (const Graph& graph :
       {zoo::power_law(3000, 40000, 5), zoo::split_row(9000, true), zoo::causal_window(2000, 20)}) {
    const AttentionCase c = attention_case(with_types(graph, 6), DType::float32, {4, 16, 16}, {.relation_keys = true});
    expect_same_bits_for_threads([&] { return attend(c); });
  }
}

TEST_P(GraphAttention, HeadGroupsUseTheirOwnGraphs) {
  const Graph first = with_types(zoo::random_graph(30, 200, 1), 4), second = with_types(zoo::causal_window(30, 5), 4);
  const std::vector<Graph> graphs{first, second};
  AttentionCase c = attention_case(first, DType::float64, {4, 6, 5});
  c.options.relation_keys = random_tensor({4, 4, 6}, DType::float64, 9);
  c.options.edge_bias = random_tensor({first.num_edges() + second.num_edges(), 2}, DType::float64, 10);
  const AttentionCase there = moved(c, device());
  const auto together = graph_attention(graphs, there.q, there.k, there.v, there.options).to_vector<double>();

  const auto heads = [](const Tensor& tensor, std::int64_t begin) {  // two of the four heads
    const auto all = tensor.to_vector<double>();
    const std::int64_t rows = tensor.size(0), width = tensor.size(2);
    std::vector<double> part;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto at = all.begin() + (row * 4 + begin) * width;
      part.insert(part.end(), at, at + 2 * width);
    }
    return Tensor::from_vector(part, {rows, 2, width});
  };
  const std::int64_t middle = first.num_edges(), end = middle + second.num_edges();
  for (const int group : {0, 1}) {
    GraphAttentionOptions options = c.options;
    options.relation_keys = heads(c.options.relation_keys, 2 * group);
    options.edge_bias = group == 0 ? c.options.edge_bias.rows(0, middle) : c.options.edge_bias.rows(middle, end);
    const Tensor part = graph_attention(graphs[static_cast<std::size_t>(group)], heads(c.q, 2 * group),
                                        heads(c.k, 2 * group), heads(c.v, 2 * group), options);
    expect_close(heads(Tensor::from_vector(together, {30, 4, 5}), 2 * group), part);
  }
}

TEST(GraphAttention, DropsTheShareThatWasAskedForAndScalesTheRest) {
  // Every destination has 64 sources of value 1 and equal scores: its result is (kept / 64) / (1 - 0.25).
  const std::int64_t nodes = 64, heads = 4;
  const Tensor zero = zeros({nodes, heads, 4}), one = ones({nodes, heads, 1});
  RandomGenerator generator(7);
  const auto out = graph_attention(full_graph(nodes), zero, zero, one, {.dropout = 0.25, .generator = &generator})
                       .to_vector<double>();
  double mean = 0;
  for (const double value : out) {
    mean += value / static_cast<double>(out.size());
    EXPECT_NEAR(value * 64 * 0.75, std::round(value * 64 * 0.75), 1e-3);
  }
  EXPECT_NEAR(mean, 1, 0.02);
  const auto [low, high] = std::ranges::minmax(out);
  EXPECT_LT(low, 0.95);
  EXPECT_GT(high, 1.05);
}

TEST_P(GraphAttention, DropsWhatTheEdgesNumbersSay) {
  const Graph graph = zoo::random_graph(9, 120, 3);  // with parallel edges
  AttentionCase c = attention_case(graph, DType::float64, {2, 4, 3});
  const Tensor weights = attention_weights(graph, c.q, c.k, c.options);
  RandomGenerator generator(5);
  AttentionDropout dropout{
      .threshold = 0x60000000u, .scale = 1 / (1 - 0.375), .stream = RandomGenerator(5).next_stream()};
  std::vector<double> expected(9 * 2 * 3);
  const auto w = weights.to_vector<double>(), v = c.v.to_vector<double>();
  const CooView edges = graph.coo();
  for (std::size_t e = 0; e < edges.src.size(); ++e) {
    std::uint32_t ordinal = 0;
    for (std::size_t before = 0; before < e; ++before) {
      ordinal += edges.src[before] == edges.src[e] && edges.dst[before] == edges.dst[e];
    }
    for (std::size_t h = 0; h < 2; ++h) {
      if (!dropout.keeps(edges.src[e], edges.dst[e], static_cast<std::int64_t>(h), ordinal)) continue;
      for (std::size_t i = 0; i < 3; ++i) {
        expected[(static_cast<std::size_t>(edges.dst[e]) * 2 + h) * 3 + i] +=
            dropout.scale * w[e * 2 + h] * v[(static_cast<std::size_t>(edges.src[e]) * 2 + h) * 3 + i];
      }
    }
  }
  c.options.dropout = 0.375;
  c.options.generator = &generator;
  expect_close(attend(moved(c, device())), expected);
}

class AttentionWeights : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, AttentionWeights, testing::ValuesIn(every_device), device_name);

TEST_P(AttentionWeights, MatchTheReferenceInEdgeOrder) {
  for (const auto& [name, extras] : all_extras()) {
    SCOPED_TRACE(name);
    const AttentionCase c =
        attention_case(with_types(zoo::random_graph(30, 300, 2), 5), DType::float64, {2, 8, 8}, extras);
    const AttentionCase there = moved(c, device());
    expect_close(attention_weights(there.graph, there.q, there.k, there.options),
                 reference::graph_attention(c.graph, c.q, c.k, c.v, c.options).weights);
  }
}

TEST(AttentionWeights, MatchTheReferenceWhereTilesLeaveOutWhatARowHasInCommon) {
  // Spans have one relation to all their sources, which a softmax does not feel, but the scores do.
  const Graph graph = generators().make("bpt", {{"k", 4}})->build({.length = 100, .causal = true}).graph;
  for (const AttentionKernel kernel : {AttentionKernel::automatic, AttentionKernel::tile}) {
    AttentionCase c = attention_case(graph, DType::float64, {2, 8, 8}, {.relation_keys = true});
    c.options.kernel = kernel;
    expect_close(attention_weights(c.graph, c.q, c.k, c.options),
                 reference::graph_attention(c.graph, c.q, c.k, c.v, c.options).weights);
  }
}

TEST(GraphAttention, OfBfloat16IsThatOfFloatRounded) {
  for (const AttentionKernel kernel : {AttentionKernel::row, AttentionKernel::tile, AttentionKernel::unfused}) {
    AttentionCase c =
        attention_case(with_types(zoo::causal_window(40, 20), 4), DType::float32, {2, 8, 4}, {.relation_keys = true});
    c.options.kernel = kernel;
    AttentionCase narrow = c;
    const std::vector<Tensor*> wide = test::tensors_of(c), rounded = test::tensors_of(narrow);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      *rounded[i] = cast(*wide[i], DType::bfloat16);
      *wide[i] = cast(*rounded[i], DType::float32);
    }
    const Tensor out = test::attend(narrow), d_out = cast(random_tensor(out.shape()), DType::bfloat16);
    expect_same_bits(out, cast(test::attend(c), DType::bfloat16));
    const std::vector<Tensor> gradients = test::gradients_of(narrow, d_out);
    const std::vector<Tensor> expected = test::gradients_of(c, cast(d_out, DType::float32));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_same_bits(gradients[i], cast(expected[i], DType::bfloat16));
    }
    EXPECT_EQ(attention_weights(narrow.graph, narrow.q, narrow.k, narrow.options).dtype(), DType::float32);
  }
}

TEST(GraphAttention, AddsUpTheGradientsOfATensorOfBfloat16ThatIsUsedThrice) {
  const Graph graph = zoo::causal_window(12, 4);
  Tensor narrow = cast(random_tensor({12, 2, 8}), DType::bfloat16), wide = cast(narrow, DType::float32);
  const Tensor d_out = cast(random_tensor({12, 2, 8}, DType::float32, 20), DType::bfloat16);
  for (Tensor* x : {&narrow, &wide}) {
    x->set_requires_grad(true);
    graph_attention(graph, *x, *x, *x).backward({.gradient = cast(d_out, x->dtype())});
  }
  EXPECT_EQ(narrow.grad().dtype(), DType::bfloat16);
  // Three gradients are rounded, and their two sums.
  expect_close(narrow.grad(), wide.grad(), {.relative = 0x1p-7, .absolute = 0x1p-6});
}

TEST(GraphAttention, SaysWhatDoesNotFit) {
  const Graph graph = zoo::causal_window(10, 3);
  const Tensor x = random_tensor({10, 2, 8});
  const auto message = [&](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const auto attend_with = [&](const GraphAttentionOptions& options) {
    return message([&] { graph_attention(graph, x, x, x, options); });
  };
  using testing::HasSubstr;
  EXPECT_THAT(message([&] { graph_attention(graph, random_tensor({9, 2, 8}), x, x); }), HasSubstr("10"));
  EXPECT_THAT(message([&] { graph_attention(graph, x, random_tensor({10, 2, 7}), x); }), HasSubstr("[10, 2, 7]"));
  EXPECT_THAT(message([&] { graph_attention(graph, x, x, random_tensor({10, 3, 8})); }), HasSubstr("[10, 3, 8]"));
  EXPECT_THAT(message([&] { graph_attention(graph, x, x.reshape({10, 16}), x); }), HasSubstr("[10, 16]"));
  EXPECT_THAT(message([&] { graph_attention(graph, x, Tensor(), x); }), HasSubstr("k is undefined"));
  EXPECT_THAT(attend_with({.relation_keys = random_tensor({3, 8})}), HasSubstr("4 edge types"));
  EXPECT_THAT(attend_with({.relation_keys = random_tensor({4, 7})}), HasSubstr("[4, 7]"));
  EXPECT_THAT(attend_with({.relation_bias = random_tensor({4})}), HasSubstr("[relations, 2]"));
  EXPECT_THAT(attend_with({.edge_bias = random_tensor({5})}), HasSubstr("edge order"));
  EXPECT_THAT(attend_with({.relation_keys = random_tensor({4, 8}, DType::float64)}), HasSubstr("float64"));
  EXPECT_THAT(attend_with({.dropout = 1}), HasSubstr("[0, 1)"));
  EXPECT_THAT(attend_with({.dropout = NAN}), HasSubstr("[0, 1)"));
  EXPECT_THAT(attend_with({.scale = INFINITY}), HasSubstr("finite"));
  EXPECT_THAT(message([&] {
                graph_attention(zoo::chain(10), x, x, x, {.relation_keys = random_tensor({4, 8})});
              }),
              HasSubstr("edge types"));
  EXPECT_THAT(message([&] { graph_attention(std::span<const Graph>(), x, x, x); }), HasSubstr("at least one graph"));
  EXPECT_THAT(message([&] { graph_attention(std::vector{graph, graph, graph}, x, x, x); }), HasSubstr("divided"));
  EXPECT_THAT(message([&] { graph_attention(std::vector{graph, zoo::chain(9)}, x, x, x); }), HasSubstr("same nodes"));
  const Tensor whole = random_tensor({10, 2, 8}, DType::int64);
  EXPECT_THAT(message([&] { graph_attention(graph, whole, whole, whole); }), HasSubstr("int64"));
}

}  // namespace
}  // namespace bough
