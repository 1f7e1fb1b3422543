#include "bough/nn/gat_layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"
#include "tests/support/compare.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/peak_memory.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough::nn {
namespace {

using test::random_tensor;

class TorchGat : public testing::TestWithParam<bool> {};

TEST_P(TorchGat, HasTheSameOutputsAndGradients) {
  std::map<std::string, Tensor> torch;
  for (auto& [name, tensor] : load_tensors(BOUGH_FIXTURES "/gat.safetensors").tensors) torch[name] = tensor;
  const std::string kind = GetParam() ? "concatenate:" : "mean:";
  const std::map<std::string, std::string> names{{"source_attention", "att_src"},
                                                 {"destination_attention", "att_dst"},
                                                 {"bias", "bias"},
                                                 {"projection.weight", "lin.weight"}};
  Tensor x = torch.at("input").clone();
  x.set_requires_grad(true);
  GatLayer layer({.in = x.size(1), .out = 4, .heads = 3, .concatenate = GetParam()});
  const auto find = [&](const std::string& prefix, const std::string& name, const Tensor& like) {
    return torch.at(kind + prefix + names.at(name)).reshape(like.shape());
  };
  Module::NamedTensors state;
  for (const auto& [name, parameter] : layer.named_parameters()) state.emplace_back(name, find("", name, parameter));
  layer.load_state(state);

  const std::vector<std::int32_t> edges = torch.at("edges").to_vector<std::int32_t>();
  const auto middle = edges.begin() + static_cast<std::ptrdiff_t>(edges.size() / 2);
  const Graph graph = Graph::from_edges(std::vector<std::int32_t>(edges.begin(), middle),
                                        std::vector<std::int32_t>(middle, edges.end()), {.num_nodes = x.size(0)});
  const Tensor output = layer.forward(graph, x);
  const test::Tolerance allowed{1e-4, 1e-5};
  test::expect_close(output, torch.at(kind + "output"), allowed);
  sum(output * torch.at(kind + "loss_weights")).backward();
  test::expect_close(x.grad(), torch.at(kind + "gradient:input"), allowed);
  for (const auto& [name, parameter] : layer.named_parameters()) {
    SCOPED_TRACE(name);
    test::expect_close(parameter.grad(), find("gradient:", name, parameter), allowed);
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, TorchGat, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "Concatenated" : "Averaged"; });

TEST(GatLayer, RunsOnEveryGraphForwardAndBackward) {
  manual_seed(1);
  GatLayer layer({.in = 3, .out = 2, .heads = 2});
  {
    const NoGrad no_grad;
    layer.bias.fill(0.5);
  }
  for (const zoo::NamedGraph& named : zoo::all(50)) {
    SCOPED_TRACE(named.name);
    const Graph& graph = named.graph;
    layer.clear_grad();
    const Tensor sources = random_tensor({graph.num_src(), 3});
    const Tensor y = graph.is_bipartite() ? layer.forward(graph, sources, random_tensor({graph.num_dst(), 3}))
                                          : layer.forward(graph, sources);
    ASSERT_EQ(y.shape(), (Shape{graph.num_dst(), 4}));
    const auto degrees = graph.in_degrees();
    for (std::int64_t node = 0; node < graph.num_dst(); ++node) {
      if (degrees[static_cast<std::size_t>(node)] == 0) {
        test::expect_close(y.rows(node, node + 1), std::vector<double>(4, 0.5));
      }
    }
    sum(square(y)).backward();
    for (const auto& [name, parameter] : layer.named_parameters()) {
      EXPECT_TRUE(std::isfinite(sum(parameter.grad()).item<double>())) << name;
    }
  }
}

TEST(GatLayer, MakesNoTensorOfEdgesTimesWidth) {
  constexpr std::int64_t nodes = 100, edges = 20'000, heads = 2, width = 64;
  GatLayer layer({.in = 8, .out = width, .heads = heads});
  const Graph graph = zoo::random_graph(nodes, edges, 1);
  const Tensor x = random_tensor({nodes, 8});
  sum(layer.forward(graph, x)).backward();  // the graph's formats and plans are made here
  const std::int64_t peak = test::peak_bytes([&] { sum(layer.forward(graph, x)).backward(); });
  EXPECT_LT(peak, edges * heads * width * 4 / 2);
}

TEST(GatLayer, DropsAttentionOnlyInTraining) {
  manual_seed(2);
  GatLayer layer({.in = 4, .out = 4, .heads = 2, .dropout = 0.5});
  const Graph graph = zoo::random_graph(20, 100, 1);
  const Tensor x = random_tensor({20, 4});
  EXPECT_GT(max(abs(layer.forward(graph, x) - layer.forward(graph, x))).item<double>(), 0);
  layer.eval();
  test::expect_same_bits(layer.forward(graph, x), layer.forward(graph, x));
}

TEST(GatLayer, RefusesSizesThatMakeNoSense) {
  EXPECT_THROW(GatLayer({.in = 3, .out = 0}), ConfigError);
  EXPECT_THROW(GatLayer({.in = 0, .out = 3}), ConfigError);
  EXPECT_THROW(GatLayer({.in = 3, .out = 1L << 40, .heads = 1L << 40}), ConfigError);
  EXPECT_THROW(GatLayer({.in = 3, .out = 2, .slope = -1}), ConfigError);
  EXPECT_THROW(GatLayer({.in = 3, .out = 2, .dropout = 1.5}), ConfigError);
  GatLayer layer({.in = 3, .out = 2});
  EXPECT_THROW(layer.forward(zoo::chain(5), zeros({4, 3})), ShapeError);
}

struct TwoLayers : Module {
  TwoLayers() : first({.in = 8, .out = 8, .heads = 4}), second({.in = 32, .out = 2, .heads = 2, .concatenate = false}) {
    add_module("first", first);
    add_module("second", second);
  }
  Tensor forward(const Graph& graph, const Tensor& x) const {
    return second.forward(graph, elu(first.forward(graph, x)));
  }
  GatLayer first, second;
};

/// Two communities of 30 nodes. Their inputs differ by less than the noise in them, but nine edges in ten stay inside.
/// Eight labels of each are given; the rest must come out right all the same.
Tensor train_on_two_communities() {
  constexpr std::int32_t size = 30, labelled = 8;
  const RandomStream random{7, 0};
  std::vector<std::int32_t> src, dst;
  for (std::int32_t node = 0; node < 2 * size; ++node) {
    src.push_back(node);
    dst.push_back(node);
    for (std::uint32_t i = 0; i < 10; ++i) {
      const std::int32_t own = node / size, community = i == 0 ? 1 - own : own;
      const auto pick = random(static_cast<std::uint64_t>(node) * 10 + i) % static_cast<std::uint32_t>(size);
      src.push_back(community * size + static_cast<std::int32_t>(pick));
      dst.push_back(node);
    }
  }
  const Graph graph = Graph::from_edges(src, dst, {.num_nodes = 2 * size});
  std::vector<std::int64_t> targets(2 * size, -100);
  for (std::size_t i = 0; i < labelled; ++i) {
    targets[i] = 0;
    targets[size + i] = 1;
  }
  manual_seed(3);
  TwoLayers model;
  Adam optimizer(model.named_parameters(), {.learning_rate = 1e-2});
  const Tensor shift = concatenate({full({size, 8}, 0.3), full({size, 8}, -0.3)}, 0);
  const Tensor x = random_tensor({2 * size, 8}) + shift;
  for (int step = 0; step < 200; ++step) {
    optimizer.clear_grad();
    cross_entropy(model.forward(graph, x), Tensor::from_vector(targets, {2 * size})).backward();
    optimizer.step();
  }
  return model.forward(graph, x).detach();
}

TEST(GatLayer, LabelsTwoCommunitiesFromAFewExamples) {
  const std::vector<std::int64_t> guesses = argmax(train_on_two_communities(), 1).to_vector<std::int64_t>();
  for (std::size_t node = 0; node < guesses.size(); ++node) {
    EXPECT_EQ(guesses[node], node < guesses.size() / 2 ? 0 : 1) << "node " << node;
  }
}

TEST(GatLayer, TrainsTheSameBitsForAnyNumberOfThreads) { test::expect_same_bits_for_threads(train_on_two_communities); }

}  // namespace
}  // namespace bough::nn
