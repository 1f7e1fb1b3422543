#include "bough/nn/recurrent_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/graph/batch.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/dropout.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/random_tensor.h"

namespace bough::nn {
namespace {

using test::random_tensor;
using testing::HasSubstr;
using Cell = RecurrentCellKind;

/// Leaves 0, 1 and 3 under 2 and 4, of which 4 is the root; types of edges are positions.
Graph binary_tree() { return Graph::from_edges({0, 1, 2, 3}, {2, 2, 4, 4}, {.edge_types = {0, 1, 0, 1}}); }

struct StackCase {
  std::string name;
  RecurrentStackOptions options;
  Graph graph;
};

class RecurrentStackLayers : public testing::TestWithParam<StackCase> {};

TEST_P(RecurrentStackLayers, RunOneAboveTheOther) {
  const RecurrentStackOptions& options = GetParam().options;
  const Graph& graph = GetParam().graph;
  RecurrentStack stack(options);
  const std::int64_t width = options.bidirectional ? 8 : 4;
  ASSERT_EQ(stack.width(), width);
  ASSERT_EQ(stack.num_layers(), 2);

  const auto layer_options = [&](std::int64_t in) {
    return RecurrentOptions{.in = in,
                            .out = 4,
                            .cell = options.cell,
                            .positions = options.positions,
                            .depth = options.depth,
                            .bidirectional = options.bidirectional};
  };
  Recurrent first(layer_options(3)), second(layer_options(width));
  first.load_state(stack.layer(0).state());
  second.load_state(stack.layer(1).state());

  Tensor x = random_tensor({graph.num_nodes(), 3}), x_apart = x.clone();
  x.set_requires_grad(true);
  x_apart.set_requires_grad(true);
  const Tensor y = stack.forward(graph, x), y_apart = second.forward(graph, first.forward(graph, x_apart));
  test::expect_same_bits(y, y_apart);
  EXPECT_EQ(y.shape(), (Shape{graph.num_nodes(), width}));
  sum(square(y)).backward();
  sum(square(y_apart)).backward();
  test::expect_same_bits(x.grad(), x_apart.grad());
  Module::NamedTensors apart;
  for (const auto& [name, tensor] : first.named_parameters()) apart.emplace_back("layer0." + name, tensor);
  for (const auto& [name, tensor] : second.named_parameters()) apart.emplace_back("layer1." + name, tensor);
  const Module::NamedTensors together = stack.named_parameters();
  ASSERT_EQ(together.size(), apart.size());
  for (std::size_t i = 0; i < apart.size(); ++i) {
    EXPECT_EQ(together[i].first, apart[i].first);
    test::expect_same_bits(together[i].second.grad(), apart[i].second.grad());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cells, RecurrentStackLayers,
    testing::Values(
        StackCase{"lstm", {.in = 3, .dim = 4, .layers = 2}, batch({zoo::chain(5), zoo::chain(1), zoo::chain(3)})},
        StackCase{"both_ways", {.in = 3, .dim = 4, .layers = 2, .bidirectional = true}, zoo::chain(6)},
        StackCase{"mlstm", {.in = 3, .dim = 4, .layers = 2, .cell = Cell::mlstm}, zoo::chain(6)},
        StackCase{"rhn", {.in = 3, .dim = 4, .layers = 2, .cell = Cell::rhn, .depth = 3}, zoo::chain(6)},
        StackCase{"qrnn", {.in = 3, .dim = 4, .layers = 2, .cell = Cell::qrnn, .bidirectional = true}, zoo::chain(6)},
        StackCase{"child_sum_tree", {.in = 3, .dim = 4, .layers = 2, .bidirectional = true}, binary_tree()},
        StackCase{"binary_tree", {.in = 3, .dim = 4, .layers = 2, .positions = 2}, binary_tree()}),
    [](const auto& instance) { return instance.param.name; });

TEST(RecurrentStack, DropsWhatTheNextLayerReadsInTrainingAlone) {
  RecurrentStack stack({.in = 3, .dim = 4, .layers = 2, .dropout = 0.5}), single({.in = 3, .dim = 4, .dropout = 0.5});
  const Graph graph = zoo::chain(6);
  const Tensor x = random_tensor({6, 3});
  manual_seed(7);
  const Tensor dropped = stack.forward(graph, x);
  manual_seed(7);
  test::expect_same_bits(dropped, stack.layer(1).forward(graph, dropout(stack.layer(0).forward(graph, x), 0.5)));
  test::expect_same_bits(single.forward(graph, x), single.layer(0).forward(graph, x));
  stack.eval();
  test::expect_same_bits(stack.forward(graph, x), stack.layer(1).forward(graph, stack.layer(0).forward(graph, x)));
}

TEST(RecurrentStack, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT(test::error_message<ConfigError>([] { RecurrentStack({.in = 3, .dim = 4, .layers = 0}); }),
              HasSubstr("layers must be in 1..10000, it is 0"));
  EXPECT_THROW(RecurrentStack({.in = 0, .dim = 4}), ConfigError);
  EXPECT_THROW(RecurrentStack({.in = 3}), ConfigError);
  EXPECT_THROW(RecurrentStack({.in = 3, .dim = 4, .depth = 2}), ConfigError);
  EXPECT_THROW(RecurrentStack({.in = 3, .dim = 4, .dropout = 1}), ConfigError);
}

}  // namespace
}  // namespace bough::nn
