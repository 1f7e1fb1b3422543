#include "bough/nn/recurrent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/graph/batch.h"
#include "bough/mp/frame.h"
#include "bough/nn/checkpoint.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough::nn {
namespace {

using test::error_message;
using test::random_tensor;
using testing::HasSubstr;
using Cell = RecurrentCellKind;

const test::Tolerance allowed{1e-4, 1e-5};

/// The formulas of the papers at one node after the other, on rows [1, width], with copies of a model's parameters.
class PlainRecursion {
 public:
  PlainRecursion(const Recurrent& model, const RecurrentOptions& options) : options_(options) {
    for (const auto& [name, parameter] : model.named_parameters()) {
      Tensor copy = parameter.detach().clone();
      parameters_[name] = copy.set_requires_grad(true);
    }
  }

  Tensor forward(const Graph& graph, const Tensor& x) const {
    std::vector<State> states(static_cast<std::size_t>(graph.num_nodes()));
    for (const IdArray& level : topological_levels(graph)) {
      for (const std::int32_t node : level) states[static_cast<std::size_t>(node)] = state(graph, x, node, states);
    }
    std::vector<Tensor> rows;
    for (const State& each : states) rows.push_back(each.h);
    return concatenate(rows, 0);
  }
  Tensor gradient(const std::string& name) const { return parameters_.at(name).grad(); }

 private:
  struct State {
    Tensor h, c, x;
    std::int64_t position = 0;
  };

  const Tensor& at(const std::string& name) const { return parameters_.at("along." + name); }
  /// Rows of a matrix or vector that belong to a gate.
  Tensor gate(const std::string& name, std::int64_t which) const {
    return slice(at(name), 0, which * options_.out, (which + 1) * options_.out);
  }
  Tensor of_input(std::int64_t which, const Tensor& x) const {
    return linear(x, gate("input.weight", which), gate("input.bias", which));
  }

  State state(const Graph& graph, const Tensor& x, std::int32_t node, const std::vector<State>& states) const {
    const Tensor own = slice(x, 0, node, node + 1);
    const Tensor none = zeros({1, options_.out});
    std::vector<State> from;
    const EdgeSelection edges = graph.in_edges({node});
    for (std::size_t e = 0; e < edges.src.size(); ++e) {
      from.push_back(states[static_cast<std::size_t>(edges.src[e])]);
      if (options_.positions > 1) {
        from.back().position = graph.edge_types()[static_cast<std::size_t>(edges.edge_ids[e])];
      }
    }
    if (options_.cell == RecurrentCellKind::lstm)
      return options_.positions > 1 ? n_ary(own, from) : child_sum(own, from);
    if (from.empty()) from.push_back({none, none, zeros(own.shape())});
    State result = options_.cell == RecurrentCellKind::mlstm ? multiplicative(own, from.front())
                   : options_.cell == RecurrentCellKind::rhn ? highway(own, from.front())
                                                             : quasi(own, from.front());
    result.x = own;
    return result;
  }

  State child_sum(const Tensor& x, const std::vector<State>& from) const {
    Tensor h = zeros({1, options_.out}), c = zeros({1, options_.out});
    for (const State& child : from) h = h + child.h;
    const auto value = [&](std::int64_t which, const Tensor& read) {
      return of_input(which, x) + linear(read, gate("recurrent.weight", which));
    };
    for (const State& child : from) c = c + sigmoid(value(1, child.h)) * child.c;
    c = c + sigmoid(value(0, h)) * tanh(value(2, h));
    return {sigmoid(value(3, h)) * tanh(c), c, x};
  }

  State n_ary(const Tensor& x, const std::vector<State>& from) const {
    const std::int64_t out = options_.out, last = 1 + options_.positions;
    const auto value = [&](std::int64_t of_x, std::int64_t of_h) {
      Tensor result = of_input(of_x, x);
      for (const State& child : from) {
        const std::int64_t begin = child.position * out;
        result = result + linear(child.h, slice(gate("recurrent.weight", of_h), 1, begin, begin + out));
      }
      return result;
    };
    Tensor c = sigmoid(value(0, 0)) * tanh(value(2, last));
    for (const State& child : from) c = c + sigmoid(value(1, 1 + child.position)) * child.c;
    return {sigmoid(value(3, last + 1)) * tanh(c), c, x};
  }

  State multiplicative(const Tensor& x, const State& from) const {
    const Tensor m = linear(x, gate("input.weight", 4)) * linear(from.h, at("factor.weight"));
    const auto value = [&](std::int64_t which) {
      return linear(x, gate("input.weight", which)) +
             linear(m, gate("recurrent.weight", which), gate("recurrent.bias", which));
    };
    const Tensor c = sigmoid(value(1)) * from.c + sigmoid(value(0)) * tanh(value(2));
    return {tanh(c) * sigmoid(value(3)), c, x};
  }

  State highway(const Tensor& x, const State& from) const {
    Tensor h = from.h;
    for (std::int64_t layer = 0; layer < options_.depth; ++layer) {
      const std::string name = "layer" + std::to_string(layer);
      const auto value = [&](std::int64_t which) {
        const Tensor read = linear(h, gate(name + ".weight", which));
        return read + (layer == 0 ? of_input(which, x) : gate(name + ".bias", which));
      };
      const Tensor transform = sigmoid(value(1));
      h = tanh(value(0)) * transform + h * (1.0 - transform);
    }
    return {h, {}, x};
  }

  State quasi(const Tensor& x, const State& from) const {
    const auto value = [&](std::int64_t which) {
      return of_input(which, x) + linear(from.x, gate("previous.weight", which));
    };
    const Tensor forget = sigmoid(value(1));
    const Tensor c = forget * from.c + (1.0 - forget) * tanh(value(0));
    return {sigmoid(value(2)) * c, c, x};
  }

  RecurrentOptions options_;
  std::map<std::string, Tensor> parameters_;
};

class TorchLstm : public testing::TestWithParam<bool> {};

TEST_P(TorchLstm, HasTheSameOutputsAndGradients) {
  std::map<std::string, Tensor> torch;
  for (auto& [name, tensor] : load_tensors(BOUGH_FIXTURES "/lstm.safetensors").tensors) torch[name] = tensor;
  const std::string kind = GetParam() ? "both:" : "one:";
  const Tensor sequences = torch.at("input");
  const std::int64_t length = sequences.size(1), rows = sequences.size(0) * length;
  const auto flat = [&](const std::string& name) {
    const Tensor& tensor = torch.at(name);
    return tensor.reshape({rows, tensor.size(2)});
  };
  // torch has two biases, which it adds; each has the gradient of the sum.
  const auto find = [&](const std::string& prefix, const std::string& name) {
    const std::string direction = name.starts_with("against.") ? "_reverse" : "";
    const auto part = [&](const char* own) { return torch.at(kind + prefix + own + "_l0" + direction); };
    if (name.ends_with("recurrent.weight")) return part("weight_hh");
    if (name.ends_with("input.weight")) return part("weight_ih");
    return prefix.empty() ? part("bias_ih") + part("bias_hh") : part("bias_ih");
  };
  Tensor x = flat("input").clone();
  x.set_requires_grad(true);
  Recurrent model({.in = x.size(1), .out = 4, .bidirectional = GetParam()});
  Module::NamedTensors state;
  for (const auto& [name, parameter] : model.named_parameters()) state.emplace_back(name, find("", name));
  model.load_state(state);

  const Tensor output = model.forward(batch({zoo::chain(length), zoo::chain(length), zoo::chain(length)}), x);
  test::expect_close(output, flat(kind + "output"), allowed);
  sum(output * flat(kind + "loss_weights")).backward();
  test::expect_close(x.grad(), flat(kind + "gradient:input"), allowed);
  for (const auto& [name, parameter] : model.named_parameters()) {
    SCOPED_TRACE(name);
    test::expect_close(parameter.grad(), find("gradient:", name), allowed);
  }
}

INSTANTIATE_TEST_SUITE_P(Directions, TorchLstm, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "Both" : "One"; });

Recurrent& randomised(Recurrent& model) {
  std::uint64_t seed = 50;
  Module::NamedTensors state;
  for (const auto& [name, parameter] : model.named_parameters()) {
    state.emplace_back(name, random_tensor(parameter.shape(), DType::float32, ++seed) * 0.6);
  }
  model.load_state(state);
  return model;
}

/// Outputs and the gradients of x and of every parameter.
void expect_plain_recursion(const Graph& graph, const RecurrentOptions& options) {
  Recurrent model(options);
  const PlainRecursion plain(randomised(model), options);
  Tensor x = random_tensor({graph.num_nodes(), options.in}), x_plain = x.clone();
  x.set_requires_grad(true);
  x_plain.set_requires_grad(true);
  const Tensor actual = model.forward(graph, x), expected = plain.forward(graph, x_plain);
  test::expect_close(actual, expected, allowed);
  const Tensor loss_weights = random_tensor(expected.shape(), DType::float32, 9);
  sum(actual * loss_weights).backward();
  sum(expected * loss_weights).backward();
  test::expect_close(x.grad(), x_plain.grad(), allowed);
  for (const auto& [name, parameter] : model.named_parameters()) {
    SCOPED_TRACE(name);
    test::expect_close(parameter.grad(), plain.gradient(name), allowed);
    EXPECT_GT(max(abs(parameter.grad())).item<double>(), 0);
  }
}

/// Sequences of different lengths, one of them running against the numbers of its nodes.
Graph sequences() { return batch({zoo::chain(5), zoo::chain(1), zoo::chain(7).reverse(), zoo::chain(3)}); }

/// 0 and 1 under 4 under 6, 2 and 3 under 5 under 6; 7 under 8 as its second child alone; 6 and 8 under 9. Numbers of
/// the edge types are positions.
Graph binary_tree() {
  return Graph::from_edges({0, 1, 2, 3, 4, 5, 7, 6, 8}, {4, 4, 5, 5, 6, 6, 8, 9, 9},
                           {.edge_types = {0, 1, 1, 0, 0, 1, 1, 1, 0}});
}

class RecurrentSequences : public testing::TestWithParam<RecurrentOptions> {};

TEST_P(RecurrentSequences, EqualThePlainLoop) { expect_plain_recursion(sequences(), GetParam()); }

TEST_P(RecurrentSequences, RunDownATreeFromItsRoot) { expect_plain_recursion(binary_tree().reverse(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentSequences,
                         testing::Values(RecurrentOptions{.in = 3, .out = 4},
                                         RecurrentOptions{.in = 3, .out = 4, .positions = 1},
                                         RecurrentOptions{.in = 3, .out = 4, .cell = Cell::mlstm},
                                         RecurrentOptions{.in = 3, .out = 4, .cell = Cell::rhn},
                                         RecurrentOptions{.in = 3, .out = 4, .cell = Cell::rhn, .depth = 3},
                                         RecurrentOptions{.in = 3, .out = 4, .cell = Cell::qrnn}),
                         [](const auto& instance) {
                           return to_string(instance.param.cell) + std::to_string(instance.index);
                         });

TEST(Recurrent, IsAChildSumTreeLstm) { expect_plain_recursion(binary_tree(), {.in = 3, .out = 4}); }

TEST(Recurrent, IsABinaryTreeLstm) { expect_plain_recursion(binary_tree(), {.in = 3, .out = 4, .positions = 2}); }

TEST(Recurrent, LeavesPositionsEmptyThatNoEdgeHas) {
  expect_plain_recursion(binary_tree(), {.in = 3, .out = 4, .positions = 3});
}

TEST(Recurrent, ReadsEarlierLevelsOfAnyGraphWithoutCycles) {
  // Skips over levels, a double edge, a node on its own.
  const Graph graph = Graph::from_edges({0, 1, 0, 2, 0, 0, 5, 3, 1}, {1, 2, 2, 3, 3, 5, 3, 6, 6}, {.num_nodes = 8});
  expect_plain_recursion(graph, {.in = 3, .out = 4});
  const Graph doubled = Graph::from_edges({0, 0, 1}, {1, 1, 2});
  expect_plain_recursion(doubled, {.in = 3, .out = 4});
}

TEST(Recurrent, GivesABatchWhatItGivesEachGraph) {
  const std::vector<Graph> graphs{binary_tree(), Graph::from_edges({2, 1}, {1, 0}, {.edge_types = {1, 0}}),
                                  binary_tree()};
  const Graph together = batch(graphs);
  for (const std::int64_t positions : {0, 2}) {
    Recurrent model({.in = 3, .out = 4, .positions = positions, .bidirectional = true});
    const Tensor x = random_tensor({together.num_nodes(), 3});
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      parts.push_back(model.forward(graphs[i], x.rows(together.graph_offsets()[i], together.graph_offsets()[i + 1])));
    }
    test::expect_close(model.forward(together, x), concatenate(parts, 0));
  }
}

TEST(Recurrent, ReversedStatesStandBesideTheOthers) {
  Recurrent both({.in = 3, .out = 4, .cell = Cell::qrnn, .bidirectional = true});
  randomised(both);
  const Tensor x = random_tensor({5, 3});
  const Tensor y = both.forward(zoo::chain(5), x);
  ASSERT_EQ(y.shape(), (Shape{5, 8}));
  Recurrent against({.in = 3, .out = 4, .cell = Cell::qrnn});
  Module::NamedTensors state;
  for (const auto& [name, tensor] : both.state()) {
    if (name.starts_with("against.")) state.emplace_back("along." + name.substr(8), tensor);
  }
  against.load_state(state);
  test::expect_same_bits(slice(y, 1, 4, 8), against.forward(zoo::chain(5).reverse(), x));
}

TEST(Recurrent, TakesGraphsWithoutNodesOrEdges) {
  for (const Cell cell : {Cell::lstm, Cell::mlstm, Cell::rhn, Cell::qrnn}) {
    Recurrent model({.in = 3, .out = 4, .cell = cell, .bidirectional = true});
    const Tensor nothing = model.forward(Graph(), zeros({0, 3}));
    EXPECT_EQ(nothing.shape(), (Shape{0, 8}));
    sum(nothing).backward();
    const Tensor alone =
        model.forward(Graph::from_edges(IdArray{}, IdArray{}, {.num_nodes = 2}), random_tensor({2, 3}));
    EXPECT_EQ(alone.shape(), (Shape{2, 8}));
    sum(alone).backward();
  }
}

/// A tree with 2 to 5 children and 2000 nodes: wide levels, which run in parallel.
Graph wide_tree() {
  std::vector<std::int32_t> src, dst;
  const RandomStream random{3, 0};
  std::int32_t parent = 0;
  for (std::int32_t child = 1; child < 2000; ++parent) {
    for (std::uint32_t i = 0; i < 2 + random(static_cast<std::uint64_t>(parent)) % 4 && child < 2000; ++i) {
      src.push_back(child++);
      dst.push_back(parent);
    }
  }
  return Graph::from_edges(src, dst, {.num_nodes = 2000});
}

TEST(Recurrent, GivesTheSameBitsForAnyNumberOfThreads) {
  const Graph tree = wide_tree();
  for (const Cell cell : {Cell::lstm, Cell::mlstm, Cell::rhn, Cell::qrnn}) {
    SCOPED_TRACE(to_string(cell));
    const Graph graph = cell == Cell::lstm ? tree : tree.reverse();
    test::expect_same_bits_for_threads([&] {
      manual_seed(4);
      Recurrent model({.in = 20, .out = 32, .cell = cell});
      Tensor x = random_tensor({graph.num_nodes(), 20});
      x.set_requires_grad(true);
      const Tensor y = model.forward(graph, x);
      sum(square(y)).backward();
      std::vector<Tensor> results{y.detach(), x.grad()};
      for (const Tensor& parameter : model.parameters()) results.push_back(parameter.grad());
      return results;
    });
  }
}

TEST(Recurrent, RunsBackAlongAVeryLongChain) {
  Recurrent model({.in = 2, .out = 3});
  const Tensor y = model.forward(zoo::chain(20'000), random_tensor({20'000, 2}));
  sum(y).backward();
  EXPECT_EQ(model.parameters().front().grad().shape(), (Shape{12, 2}));
}

TEST(Recurrent, RefusesGraphsThatItsCellCannotRead) {
  const Tensor x = zeros({10, 3});
  Recurrent lstm({.in = 3, .out = 2}), chain_lstm({.in = 3, .out = 2, .positions = 1}),
      binary({.in = 3, .out = 2, .positions = 2}), quasi({.in = 3, .out = 2, .cell = Cell::qrnn});
  const auto message = [&](const Recurrent& model, const Graph& graph) {
    return error_message<GraphError>([&] { model.forward(graph, zeros({graph.num_nodes(), 3})); });
  };
  // Node 0 comes after the cycle of 1 and 2.
  EXPECT_THAT(message(lstm, Graph::from_edges({1, 2, 2}, {2, 1, 0})),
              testing::AnyOf(HasSubstr("node 1 is on it"), HasSubstr("node 2 is on it")));
  EXPECT_THAT(message(lstm, Graph::from_edges({0}, {0})), HasSubstr("node 0"));
  EXPECT_THAT(message(quasi, binary_tree()), HasSubstr("node 4 has more than the one predecessor that qrnn takes"));
  EXPECT_THAT(message(chain_lstm, binary_tree()), HasSubstr("node 4"));
  EXPECT_THAT(message(binary, Graph::from_edges({0, 1}, {2, 2})), HasSubstr("position 0; the graph has no edge types"));
  EXPECT_THAT(message(binary, Graph::from_edges({0, 1}, {2, 2}, {.edge_types = {1, 2}})), HasSubstr("type 2"));
  EXPECT_THROW(lstm.forward(Graph::bipartite({0}, {0}), zeros({1, 3})), GraphError);
  EXPECT_THROW(lstm.forward(zoo::chain(5), x), ShapeError);
  EXPECT_THROW(lstm.forward(zoo::chain(10), zeros({10, 4})), ShapeError);
}

TEST(Recurrent, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(Recurrent({.in = 0, .out = 2}), ConfigError);
  EXPECT_THROW(Recurrent({.in = 2, .out = 0}), ConfigError);
  EXPECT_THROW(Recurrent({.in = 2, .out = 2, .positions = -1}), ConfigError);
  EXPECT_THROW(Recurrent({.in = 2, .out = 2, .cell = Cell::mlstm, .positions = 2}), ConfigError);
  EXPECT_THROW(Recurrent({.in = 2, .out = 2, .depth = 2}), ConfigError);
  EXPECT_THROW(Recurrent({.in = 2, .out = 2, .cell = Cell::rhn, .depth = 0}), ConfigError);
}

TEST(Recurrent, CellsHaveNames) {
  for (const Cell cell : {Cell::lstm, Cell::mlstm, Cell::rhn, Cell::qrnn}) {
    EXPECT_EQ(parse_recurrent_cell(to_string(cell)), cell);
  }
  EXPECT_THAT(error_message<ConfigError>([] { parse_recurrent_cell("gru"); }), HasSubstr("lstm, mlstm, rhn, qrnn"));
}

}  // namespace
}  // namespace bough::nn
