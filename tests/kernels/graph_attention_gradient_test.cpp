#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/graph_attention.h"
#include "bough/ops/reduce.h"
#include "tests/kernels/graph_attention_cases.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/generated_graphs.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using test::all_extras;
using test::attention_case;
using test::AttentionCase;
using test::gradients_of;
using test::moved;
using test::tensors_of;
using test::with_types;

class GraphAttentionGradient : public test::DeviceTest {
 protected:
  /// Of every tensor of the case.
  void expect_gradients(AttentionCase c, std::uint64_t seed = 0) {
    std::vector<Tensor> inputs;
    for (const Tensor* tensor : tensors_of(c)) inputs.push_back(*tensor);
    expect_gradient(
        [&](const std::vector<Tensor>& values) {
          RandomGenerator generator(seed);
          AttentionCase given = c;
          const auto places = tensors_of(given);
          for (std::size_t i = 0; i < places.size(); ++i) *places[i] = values[i];
          given.options.generator = &generator;
          return test::attend(given);
        },
        inputs);
  }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, GraphAttentionGradient, testing::ValuesIn(test::every_device), test::device_name);

TEST_P(GraphAttentionGradient, MatchesFiniteDifferencesOnEveryGraph) {
  for (const zoo::NamedGraph& named : zoo::all(on_cpu() ? 40 : 300)) {
    SCOPED_TRACE(named.name);
    expect_gradients(attention_case(with_types(named.graph, 3), DType::float64, {1, 3, 2}, {.relation_keys = true}));
  }
}

TEST_P(GraphAttentionGradient, MatchesFiniteDifferencesForEveryOption) {
  for (const Graph& graph :
       {zoo::random_graph(8, 40, 2), zoo::random_bipartite(7, 5, 30, 3), zoo::causal_window(20, 4)}) {
    for (const auto& [name, extras] : all_extras()) {
      SCOPED_TRACE(name);
      expect_gradients(attention_case(with_types(graph, 4), DType::float64, {2, 3, 4}, extras));
    }
  }
}

TEST_P(GraphAttentionGradient, DropsTheSameEdgesAsForward) {
  for (const auto& [name, extras] : all_extras()) {
    SCOPED_TRACE(name);
    AttentionCase c = attention_case(with_types(zoo::random_graph(7, 60, 3), 3), DType::float64, {2, 3, 3}, extras);
    c.options.dropout = 0.4;
    expect_gradients(c, 11);
  }
}

TEST_P(GraphAttentionGradient, MatchesFiniteDifferencesForHeadGroups) {
  const std::vector<Graph> graphs{with_types(zoo::random_graph(9, 40, 1), 3), with_types(zoo::causal_window(9, 3), 3)};
  const std::int64_t edges = graphs[0].num_edges() + graphs[1].num_edges();
  const auto random = [](const Shape& shape, std::uint64_t seed) {
    return test::random_tensor(shape, DType::float64, seed);
  };
  expect_gradient(
      [&](const std::vector<Tensor>& x) {
        return graph_attention(
            graphs, x[0], x[1], x[2],
            {.relation_keys = x[3], .relation_values = x[4], .relation_bias = x[5], .edge_bias = x[6]});
      },
      {random({9, 4, 3}, 1), random({9, 4, 3}, 2), random({9, 4, 2}, 3), random({3, 4, 3}, 4), random({3, 2}, 5),
       random({3, 4}, 6), random({edges, 2}, 7)});
}

TEST_P(GraphAttentionGradient, OfDestinationsThatAttendToNothingIsZero) {
  AttentionCase c = attention_case(Graph::from_edges({0, 1}, {2, 2}, {.num_nodes = 4}), DType::float32);
  const std::vector<Tensor> gradients = gradients_of(moved(c, device()));
  for (const std::int64_t row : {0, 1, 3}) {
    test::expect_same_bits(gradients[0].rows(row, row + 1), zeros({1, 2, 8}));
  }
  test::expect_same_bits(gradients[1].rows(2, 4), zeros({2, 2, 8}));
}

TEST_P(GraphAttentionGradient, OfRowsWhoseWeightsAreAllZeroIsZeroForEveryKernel) {
  AttentionCase c = attention_case(zoo::causal_window(6, 2), DType::float64, {}, {.edge_weights = true});
  for (std::int64_t e = 0; e < c.graph.num_edges(); ++e) {
    if (c.graph.coo().dst[static_cast<std::size_t>(e)] == 3) c.options.edge_weights.data<double>()[e] = 0;
  }
  for (const AttentionKernel kernel : {AttentionKernel::row, AttentionKernel::unfused}) {
    c.options.kernel = kernel;
    const std::vector<Tensor> gradients = gradients_of(moved(c, device()));
    test::expect_same_bits(gradients[0].rows(3, 4), zeros({1, 2, 8}, DType::float64));
    const std::vector<double> weights = gradients[3].to_vector<double>();
    for (std::int64_t e = 0; e < c.graph.num_edges(); ++e) {
      const double gradient = weights[static_cast<std::size_t>(e)];
      EXPECT_EQ(gradient == 0, c.options.edge_weights.data<double>()[e] == 0) << "edge " << e << ": " << gradient;
    }
  }
}

TEST_P(GraphAttentionGradient, AndResultOfFusedEqualUnfused) {
  for (const zoo::NamedGraph& named : zoo::all(on_cpu() ? 300 : 20)) {
    if (!on_cpu() && named.graph.num_edges() > 100) continue;  // unfused, an emulated GPU is slow
    SCOPED_TRACE(named.name);
    for (const auto& [name, extras] : all_extras()) {
      SCOPED_TRACE(name);
      AttentionCase c = attention_case(with_types(named.graph, 4), DType::float64, {3, 5, 4}, extras);
      c.options.dropout = 0.2;
      const auto run = [&](AttentionKernel kernel) {
        RandomGenerator generator(8);
        AttentionCase used = moved(c, device());
        used.options.kernel = kernel;
        used.options.generator = &generator;
        std::vector<Tensor> results = gradients_of(used);
        results.push_back(test::attend(used));
        return results;
      };
      const std::vector<Tensor> fused = run(AttentionKernel::automatic), unfused = run(AttentionKernel::unfused);
      for (std::size_t i = 0; i < fused.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "tensor " << i);
        test::expect_close(fused[i], unfused[i], {.relative = 1e-9, .absolute = 1e-9});
      }
    }
  }
}

TEST(GraphAttentionGradient, AndResultOfFusedEqualUnfusedOnAGraphOfEveryGenerator) {
  for (const bool causal : {false, true}) {
    for (const zoo::NamedGraph& generated : test::generated_graphs(75, causal)) {
      SCOPED_TRACE(generated.name);
      AttentionCase c = attention_case(generated.graph, DType::float64, {2, 6, 5},
                                       {.relation_keys = !generated.graph.edge_types().empty()});
      const auto run = [&](AttentionKernel kernel) {
        c.options.kernel = kernel;
        std::vector<Tensor> results = gradients_of(c);
        results.push_back(test::attend(c));
        return results;
      };
      const std::vector<Tensor> unfused = run(AttentionKernel::unfused);
      for (const AttentionKernel kernel : {AttentionKernel::row, AttentionKernel::tile}) {
        const std::vector<Tensor> fused = run(kernel);
        for (std::size_t i = 0; i < fused.size(); ++i) {
          SCOPED_TRACE(testing::Message() << "tensor " << i);
          test::expect_close(fused[i], unfused[i], {.relative = 1e-9, .absolute = 1e-9});
        }
      }
    }
  }
}

TEST(GraphAttentionGradient, OfAnEdgeOfWeightZeroIsThatOfItsWeightOnly) {
  // As if the edge of weight 0 were not there, however large its score.
  const Graph three = Graph::from_edges({0, 1, 2}, {0, 0, 0}, {.num_nodes = 3});
  AttentionCase c = attention_case(three, DType::float32);
  c.options.edge_weights = Tensor::from_vector<float>({1, 0, 2}, {3});
  c.options.edge_bias = Tensor::from_vector<float>({0, 1e4F, 0}, {3});
  AttentionCase without = c;
  without.graph = Graph::from_edges({0, 2}, {0, 0}, {.num_nodes = 3});
  without.options.edge_weights = Tensor::from_vector<float>({1, 2}, {2});
  without.options.edge_bias = {};
  const std::vector<Tensor> gradients = gradients_of(c), expected = gradients_of(without);
  for (std::size_t i = 0; i < 3; ++i) test::expect_close(gradients[i], expected[i]);
  EXPECT_EQ(gradients[3].to_vector<float>()[1], 0);

  // With a score of usual size the weight has a gradient, though it is 0.
  c = attention_case(three, DType::float64);
  c.options.edge_weights = Tensor::from_vector<double>({1, 0, 2}, {3});
  Tensor out = test::attend(c);
  const Tensor d_out = test::random_tensor(out.shape(), DType::float64, 20);
  const double step = 1e-6;
  AttentionCase moved = c;
  moved.options.edge_weights = Tensor::from_vector<double>({1, step, 2}, {3});
  const double slope = sum((test::attend(moved) - out) * d_out).item<double>() / step;
  EXPECT_NEAR(gradients_of(c)[3].to_vector<double>()[1], slope, 1e-4);
}

TEST(GraphAttentionGradient, OfHeadGroupsIsThatOfTheUnfusedOperations) {
  const std::vector<Graph> graphs{with_types(zoo::random_graph(30, 200, 1), 3),
                                  with_types(zoo::causal_window(30, 9), 3)};
  AttentionCase c = attention_case(graphs[0], DType::float64, {4, 6, 5},
                                   {.relation_keys = true, .keys_per_head = true, .relation_bias = true});
  c.options.edge_bias = test::random_tensor({graphs[0].num_edges() + graphs[1].num_edges(), 2}, DType::float64, 9);
  const auto run = [&](AttentionKernel kernel) {
    AttentionCase used = c;
    used.options.kernel = kernel;
    for (Tensor* tensor : tensors_of(used)) *tensor = tensor->clone().set_requires_grad(true);
    const Tensor out = graph_attention(graphs, used.q, used.k, used.v, used.options);
    out.backward({.gradient = test::random_tensor(out.shape(), DType::float64, 20)});
    std::vector<Tensor> results{out.detach()};
    for (const Tensor* tensor : tensors_of(used)) results.push_back(tensor->grad());
    return results;
  };
  const std::vector<Tensor> fused = run(AttentionKernel::automatic), unfused = run(AttentionKernel::unfused);
  for (std::size_t i = 0; i < fused.size(); ++i) {
    test::expect_close(fused[i], unfused[i], {.relative = 1e-9, .absolute = 1e-9});
  }
}

TEST_P(GraphAttentionGradient, InFloatFollowsDoubleAlsoThroughSplitRows) {
  for (const Graph& graph : on_cpu() ? std::vector{zoo::split_row(5000, true), zoo::power_law(500, 20000, 6)}
                                     : std::vector{zoo::split_row(600, true), zoo::power_law(50, 2000, 6)}) {
    const auto make = [&](DType dtype) {
      return attention_case(with_types(graph, 5), dtype, {2, 8, 12},
                            {.relation_keys = true, .relation_values = true, .relation_bias = true});
    };
    AttentionCase single = make(DType::float32), twice = make(DType::float64);
    const auto places = tensors_of(single), double_places = tensors_of(twice);
    for (std::size_t i = 0; i < places.size(); ++i) {
      *double_places[i] = Tensor::from_vector(places[i]->to_vector<double>(), places[i]->shape());
    }
    const auto actual = gradients_of(moved(single, device())), expected = gradients_of(twice);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      test::expect_close(actual[i], expected[i], {.relative = 1e-4, .absolute = 2e-3});
    }
  }
}

TEST_P(GraphAttentionGradient, AgreesOnEveryInstructionSet) {
  const AttentionCase c =
      attention_case(with_types(zoo::random_graph(8, 40, 2), 4), DType::float64, {2, 5, 3}, all_extras()[2].second);
  test::on_every_simd_target(device(), [&] { expect_gradients(c); });
}

TEST(GraphAttentionGradient, IsBitwiseEqualForOneTwoAndSevenThreads) {
  for (const Graph& graph :
       {zoo::power_law(2000, 30000, 5), zoo::split_row(9000, true), zoo::causal_window(1500, 20)}) {
    AttentionCase c = attention_case(with_types(graph, 6), DType::float32, {4, 16, 16},
                                     {.relation_keys = true, .relation_values = true, .edge_bias = true});
    test::expect_same_bits_for_threads(std::function([&] { return gradients_of(c); }));
  }
}

TEST(GraphAttentionGradient, WithAllOptionsAtOnceIsBitwiseEqualForOneTwoAndSevenThreads) {
  const std::vector<Graph> graphs{with_types(zoo::power_law(1500, 20000, 7), 6),
                                  with_types(zoo::causal_window(1500, 12), 6)};
  AttentionCase c = attention_case(graphs[0], DType::float32, {4, 9, 11},
                                   {.relation_keys = true,
                                    .keys_per_head = true,
                                    .relation_values = true,
                                    .relation_bias = true,
                                    .edge_bias = true,
                                    .edge_weights = true});
  const std::int64_t edges = graphs[0].num_edges() + graphs[1].num_edges();
  c.options.edge_bias = test::random_tensor({edges, 2}, DType::float32, 9);
  c.options.edge_weights = test::random_uniform({edges}, 0, 1, DType::float32, 10);
  c.options.dropout = 0.2;
  test::expect_same_bits_for_threads(std::function([&] {
    RandomGenerator generator(4);
    AttentionCase used = c;
    used.options.generator = &generator;
    for (Tensor* tensor : tensors_of(used)) *tensor = tensor->clone().set_requires_grad(true);
    const Tensor out = graph_attention(graphs, used.q, used.k, used.v, used.options);
    out.backward({.gradient = test::random_tensor(out.shape(), DType::float32, 20)});
    std::vector<Tensor> results{out.detach()};
    for (const Tensor* tensor : tensors_of(used)) results.push_back(tensor->grad());
    return results;
  }));
}

}  // namespace
}  // namespace bough
