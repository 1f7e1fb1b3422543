#include "bough/ops/edge_softmax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/message_passing.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/errors.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;

Tensor expected_softmax(const Graph& graph, const Tensor& scores, Target by = Target::destination) {
  return reference::softmax_groups(scores, reference::ends(graph, by), rows_for(graph, by)).tensor();
}

class EdgeSoftmax : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, EdgeSoftmax, testing::ValuesIn(every_device), device_name);

TEST_P(EdgeSoftmax, MatchesTheReferenceOnEveryGraph) {
  for (const zoo::NamedGraph& named : message_passing_graphs(device())) {
    SCOPED_TRACE(named.name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const Target by : {Target::destination, Target::source}) {
        const Tensor scores = here(random_tensor({named.graph.num_edges(), 8}, dtype, 1));
        expect_close(edge_softmax(named.graph, scores, {.by = by}), expected_softmax(named.graph, scores, by), dtype);
      }
    }
  }
}

TEST(EdgeSoftmax, TakesAnyNumberOfColumnsOnEveryInstructionSet) {
  on_every_simd_target([] {
    for (const Graph& graph : {zoo::random_graph(20, 150, 1), zoo::causal_window(40, 9)}) {
      for (const std::int64_t columns : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 48, 65}) {
        for (const DType dtype : {DType::float32, DType::float64}) {
          const Tensor scores = random_tensor({graph.num_edges(), columns}, dtype, 2);
          expect_close(edge_softmax(graph, scores), expected_softmax(graph, scores), dtype);
        }
      }
    }
  });
}

TEST_P(EdgeSoftmax, TakesScoresOfAnyRank) {
  const Graph graph = zoo::random_graph(9, 40, 1);
  for (const Shape& shape : {Shape{40}, Shape{40, 3, 1}, Shape{40, 2, 3, 2}}) {
    const Tensor scores = here(random_tensor(shape, DType::float64, 1));
    expect_close(edge_softmax(graph, scores), expected_softmax(graph, scores));
  }
}

TEST_P(EdgeSoftmax, GradientMatchesFiniteDifferences) {
  for (const Target by : {Target::destination, Target::source}) {
    for (const Graph& graph : {zoo::random_graph(8, 30, 1), zoo::causal_window(9, 3)}) {
      expect_gradient([&](const std::vector<Tensor>& x) { return edge_softmax(graph, x[0], {.by = by}); },
                      {random_tensor({graph.num_edges(), 3}, DType::float64, 1)});
    }
  }
}

TEST_P(EdgeSoftmax, GradientOfASplitRowIsWeightsTimesCentredGradient) {
  const Graph graph = zoo::split_row(4000);
  Tensor scores = here(random_tensor({4000, 2}, DType::float64, 1)).set_requires_grad(true);
  const Tensor weights = edge_softmax(graph, scores);
  const Tensor gradient = here(random_tensor({4000, 2}, DType::float64, 2));
  weights.backward({.gradient = gradient});
  const std::vector<double> y = weights.to_vector<double>(), dy = gradient.to_vector<double>();
  std::vector<double> dot(2), expected;
  for (std::size_t i = 0; i < y.size(); ++i) dot[i % 2] += y[i] * dy[i];
  for (std::size_t i = 0; i < y.size(); ++i) expected.push_back(y[i] * (dy[i] - dot[i % 2]));
  expect_close(scores.grad(), expected);
}

TEST_P(EdgeSoftmax, SurvivesScoresOfTenThousand) {
  const Graph graph = zoo::random_graph(10, 80, 1);
  const Tensor scores = here(random_uniform({80, 4}, -1e4, 1e4, DType::float32, 1));
  const Tensor weights = edge_softmax(graph, scores);
  for (const float weight : weights.to_vector<float>()) EXPECT_TRUE(std::isfinite(weight));
  expect_close(weights, expected_softmax(graph, scores));
}

TEST_P(EdgeSoftmax, MaskedEntriesGetZeroAndAFullyMaskedRowZerosAndNoNaN) {
  const Graph graph = Graph::from_edges({0, 1, 2, 0, 1}, {0, 0, 0, 1, 1}, {.num_nodes = 3});
  Tensor scores =
      here(Tensor::from_vector<double>({1, -INFINITY, 1, -INFINITY, -INFINITY}, {5})).set_requires_grad(true);
  const Tensor weights = edge_softmax(graph, scores);
  expect_close(weights, {0.5, 0, 0.5, 0, 0});
  weights.backward({.gradient = here(random_tensor({5}, DType::float64))});
  for (const std::size_t masked : {1, 3, 4}) EXPECT_EQ(scores.grad().to_vector<double>()[masked], 0);
}

TEST_P(EdgeSoftmax, SplitRowsWithMaskedSplitsShareOutWhatIsLeft) {
  const Graph graph = zoo::split_row(5000);
  for (const float only : {-1e4f, 1e4f}) {
    std::vector<float> values(5000, -INFINITY);
    values[1500] = values[3500] = only;  // sources descend: both in other splits than the first
    const std::vector<float> weights =
        edge_softmax(graph, here(Tensor::from_vector(values, {5000}))).to_vector<float>();
    EXPECT_EQ(weights[1500], 0.5f);
    EXPECT_EQ(weights[3500], 0.5f);
    EXPECT_EQ(weights[0], 0);
  }
  const Tensor masked = edge_softmax(graph, here(full({5000, 2}, -INFINITY)));
  expect_close(masked, std::vector<double>(10000, 0.0));
}

TEST(EdgeSoftmax, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Graph graph = zoo::power_law(3000, 60000, 1);
  expect_same_bits_for_threads([&] {
    Tensor scores = random_tensor({60000, 5}, DType::float32, 1).set_requires_grad(true);
    const Tensor weights = edge_softmax(graph, scores);
    weights.backward({.gradient = random_tensor({60000, 5}, DType::float32, 2)});
    return std::vector<Tensor>{weights, scores.grad()};
  });
}

TEST_P(EdgeSoftmax, HasNothingToDoWithoutEdgesOrColumns) {
  EXPECT_EQ(edge_softmax(Graph(), here(zeros({0, 3}))).shape(), (Shape{0, 3}));
  EXPECT_EQ(edge_softmax(zoo::chain(4), here(zeros({3, 0}))).shape(), (Shape{3, 0}));
}

TEST(EdgeSoftmax, NamesBothSizesWhenRowsDoNotMatchEdges) {
  EXPECT_THAT(error_message<ShapeError>([] {
                edge_softmax(zoo::chain(4), zeros({12, 2}));
              }),
              testing::AllOf(testing::HasSubstr("[12, 2]"), testing::HasSubstr("3")));
  EXPECT_THROW(edge_softmax(zoo::chain(4), zeros({3}), {.by = Target::edge}), ConfigError);
  EXPECT_THROW(edge_softmax(zoo::chain(4), zeros({3}, DType::int32)), TypeError);
}

}  // namespace
}  // namespace bough
