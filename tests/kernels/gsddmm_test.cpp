#include "bough/ops/gsddmm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/plan/edge_work_items.h"
#include "kernels/reference/message_passing.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/errors.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

class Gsddmm : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Gsddmm, testing::ValuesIn(every_device), device_name);

TEST_P(Gsddmm, GivesTheMessagesOfASmallGraphByHand) {
  const Graph graph = Graph::from_edges({0, 2, 1}, {1, 1, 0}, {.num_nodes = 3});
  const Tensor k = here(Tensor::from_vector<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  const Tensor q = here(Tensor::from_vector<float>({10, 20, 30, 40, 50, 60}, {3, 2}));
  expect_close(gsddmm(graph, BinaryOp::add, k, q), {31, 42, 35, 46, 13, 24});
  const Tensor scores = gsddmm(graph, BinaryOp::dot, k, q);
  EXPECT_EQ(scores.shape(), (Shape{3, 1}));
  expect_close(scores, {1 * 30 + 2 * 40, 5 * 30 + 6 * 40, 3 * 10 + 4 * 20});
}

TEST_P(Gsddmm, MatchesTheReferenceOnEveryGraph) {
  for (const zoo::NamedGraph& named : message_passing_graphs(device())) {
    SCOPED_TRACE(named.name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const BinaryOp op : all_messages) {
        const Tensor lhs = here(features(named.graph, Target::source, {2, 5}, dtype, 1));
        const Tensor rhs = here(features(named.graph, Target::destination, {2, 5}, dtype, 2));
        expect_close(gsddmm(named.graph, op, lhs, rhs),
                     reference::gsddmm(named.graph, op, {lhs, Target::source}, {rhs, Target::destination}).tensor(),
                     dtype);
      }
    }
  }
}

TEST_P(Gsddmm, MatchesTheReferenceForAllPlacesOfTheOperands) {
  for (const Graph& graph :
       {zoo::random_graph(20, 90, 1), zoo::random_bipartite(9, 14, 70, 2), zoo::causal_window(30, 3)}) {
    for (const BinaryOp op : all_messages) {
      for (const Target left : all_targets) {
        for (const Target right : all_targets) {
          SCOPED_TRACE(testing::Message() << name_of(op) << " " << name_of(left) << " " << name_of(right));
          const Tensor lhs = here(features(graph, left, {3, 4}, DType::float64, 1));
          const Tensor rhs = here(features(graph, right, {3, 4}, DType::float64, 2));
          expect_close(gsddmm(graph, op, lhs, rhs, {.lhs = left, .rhs = right}),
                       reference::gsddmm(graph, op, {lhs, left}, {rhs, right}).tensor());
        }
      }
    }
  }
}

TEST(Gsddmm, MatchesTheReferenceWhereEdgesAreVisitedInWorkItems) {
  const Graph graph = generators().make("bpt", {{"k", 8}})->build({.length = 1500}).graph;
  const auto items = mp::edge_work_items(graph);
  ASSERT_GT(items->items.size(), 1);
  std::vector<int> visits(static_cast<std::size_t>(graph.num_edges()));
  for (const mp::EdgeWorkItem& item : items->items) {
    for (std::int64_t i = item.begin; i < item.end; ++i) ++visits[static_cast<std::size_t>(i)];
  }
  EXPECT_THAT(visits, testing::Each(1));
  for (const ShapePair& shapes : {ShapePair{{2, 20}, {2, 20}}, ShapePair{{37}, {37}}, ShapePair{{19, 3}, {19, 3}}}) {
    const Tensor lhs = random_tensor(features_for(graph, Target::source, shapes.lhs), DType::float64, 1);
    const Tensor rhs = random_tensor(features_for(graph, Target::destination, shapes.rhs), DType::float64, 2);
    expect_close(gsddmm(graph, BinaryOp::dot, lhs, rhs),
                 reference::gsddmm(graph, BinaryOp::dot, {lhs, Target::source}, {rhs, Target::destination}).tensor());
  }
}

TEST_P(Gsddmm, BroadcastsFeaturesAsNumPyDoes) {
  const Graph graph = zoo::random_graph(15, 60, 3);
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const BinaryOp op : all_messages) {
      for (const ShapePair& shapes : shape_pairs(op)) {
        const Tensor lhs = here(features(graph, Target::source, shapes.lhs, dtype, 1));
        const Tensor rhs = here(features(graph, Target::edge, shapes.rhs, dtype, 2));
        SCOPED_TRACE(testing::Message() << name_of(op) << " " << to_string(lhs.shape()) << to_string(rhs.shape()));
        expect_close(gsddmm(graph, op, lhs, rhs, {.rhs = Target::edge}),
                     reference::gsddmm(graph, op, {lhs, Target::source}, {rhs, Target::edge}).tensor(), dtype);
      }
    }
  }
}

TEST_P(Gsddmm, GradientMatchesFiniteDifferencesForAllPlacesOfTheOperands) {
  for (const Graph& graph : {zoo::random_graph(6, 25, 1, 2), zoo::random_bipartite(4, 7, 20, 2)}) {
    for (const BinaryOp op : all_messages) {
      for (const Target left : all_targets) {
        for (const Target right : all_targets) {
          SCOPED_TRACE(testing::Message() << name_of(op) << " " << name_of(left) << " " << name_of(right));
          expect_gradient(
              [&](const std::vector<Tensor>& x) { return gsddmm(graph, op, x[0], x[1], {.lhs = left, .rhs = right}); },
              {features(graph, left, {2, 3}, DType::float64, 1), features(graph, right, {2, 3}, DType::float64, 2)});
        }
      }
    }
  }
}

TEST_P(Gsddmm, GradientIsSummedOverBroadcastAxes) {
  const Graph graph = zoo::random_graph(5, 12, 4);
  for (const BinaryOp op : all_messages) {
    if (is_copy(op)) continue;
    for (const ShapePair& shapes : shape_pairs(op)) {
      const Tensor lhs = features(graph, Target::source, shapes.lhs, DType::float64, 1);
      const Tensor rhs = features(graph, Target::edge, shapes.rhs, DType::float64, 2);
      SCOPED_TRACE(testing::Message() << name_of(op) << " " << to_string(lhs.shape()) << to_string(rhs.shape()));
      expect_gradient(
          [&](const std::vector<Tensor>& x) { return gsddmm(graph, op, x[0], x[1], {.rhs = Target::edge}); },
          {lhs, rhs});
    }
  }
}

TEST(Gsddmm, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Graph graph = zoo::power_law(3000, 20000, 1);
  for (const BinaryOp op : {BinaryOp::mul, BinaryOp::dot, BinaryOp::div}) {
    expect_same_bits_for_threads([&] {
      Tensor lhs = features(graph, Target::source, {3, 19}, DType::float32, 1).set_requires_grad(true);
      Tensor rhs = features(graph, Target::destination, {1, 19}, DType::float32, 2).set_requires_grad(true);
      const Tensor result = gsddmm(graph, op, lhs, rhs);
      result.backward({.gradient = random_tensor(result.shape())});
      return std::vector<Tensor>{result, lhs.grad(), rhs.grad()};
    });
  }
}

TEST_P(Gsddmm, HasNoRowsWithoutEdgesAndNoColumnsWithoutFeatures) {
  const Graph none = Graph::from_edges({}, {}, {.num_nodes = 3});
  EXPECT_EQ(gsddmm(none, BinaryOp::add, here(ones({3, 2})), here(ones({3, 2}))).shape(), (Shape{0, 2}));
  const Graph one = Graph::from_edges({0}, {1}, {.num_nodes = 2});
  EXPECT_EQ(gsddmm(one, BinaryOp::mul, here(ones({2, 4, 0})), here(ones({2, 1, 0}))).shape(), (Shape{1, 4, 0}));
}

TEST_P(Gsddmm, DotOverAnEmptyAxisIsZeroAndPassesNoGradient) {
  const Graph graph = Graph::from_edges({0, 1}, {1, 0}, {.num_nodes = 2});
  Tensor lhs = here(ones({2, 3, 0})).set_requires_grad(true);
  const Tensor result = gsddmm(graph, BinaryOp::dot, lhs, here(ones({2, 3, 0})));
  expect_close(result, std::vector<double>(6, 0.0));
  result.backward({.gradient = here(ones({2, 3, 1}))});
  EXPECT_EQ(lhs.grad().shape(), (Shape{2, 3, 0}));
}

TEST_P(Gsddmm, KeepsNothingWhereNothingRequiresAGradient) {
  const Graph graph = Graph::from_edges({0}, {1}, {.num_nodes = 2});
  EXPECT_TRUE(gsddmm(graph, BinaryOp::mul, here(ones({2, 3})), here(ones({2, 3}))).is_leaf());
}

TEST(Gsddmm, NamesTheOperandAndBothSizesWhenRowsDoNotMatch) {
  const Graph graph = Graph::from_edges({0, 1}, {1, 0}, {.num_nodes = 2});
  EXPECT_THAT(error_message<ShapeError>([&] {
                gsddmm(graph, BinaryOp::add, ones({2, 3}), ones({5, 3}));
              }),
              AllOf(HasSubstr("rhs"), HasSubstr("[5, 3]"), HasSubstr("destination"), HasSubstr("2")));
  EXPECT_THAT(error_message<ShapeError>([&] {
                gsddmm(graph, BinaryOp::add, ones({2, 3}), ones({2, 4}));
              }),
              AllOf(HasSubstr("[3]"), HasSubstr("[4]")));
  EXPECT_THAT(error_message<ShapeError>([&] {
                gsddmm(graph, BinaryOp::dot, ones({2, 3}), ones({2, 1}));
              }),
              AllOf(HasSubstr("dot"), HasSubstr("[2, 3]"), HasSubstr("[2, 1]")));
  EXPECT_THAT(error_message<ShapeError>([&] {
                gsddmm(graph, BinaryOp::add, ones({2, 3}), Tensor());
              }),
              HasSubstr("rhs is undefined"));
  EXPECT_THROW(gsddmm(graph, BinaryOp::add, ones({2}), ones({2}, DType::float64)), TypeError);
  EXPECT_THROW(gsddmm(graph, BinaryOp::add, ones({2}, DType::int32), ones({2}, DType::int32)), TypeError);
}

}  // namespace
}  // namespace bough
