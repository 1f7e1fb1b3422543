#include "bough/ops/gspmm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bough/detail/mp/adjacency.h"
#include "kernels/reference/message_passing.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/errors.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr Strategy all_strategies[] = {Strategy::automatic, Strategy::serial, Strategy::rows, Strategy::split_rows,
                                       Strategy::features};

/// Products of thousands of factors leave the range of floats; near 1 they do not. `scale` makes messages near 1.
Tensor tame_features(const Graph& graph, Target target, const std::vector<std::int64_t>& row, DType dtype,
                     std::uint64_t seed, double scale = 1) {
  return random_uniform(features_for(graph, target, row), 0.999 * scale, 1.001 * scale, dtype, seed);
}

/// For operands of width 3.
double scale_to_one(BinaryOp op) {
  if (op == BinaryOp::add) return 0.5;
  return op == BinaryOp::dot ? std::sqrt(1.0 / 3) : 1;
}

/// A sum of n terms is good to about n / 1024 + 1024 roundings, in practice far less.
Tolerance sum_tolerance(DType dtype) {
  return dtype == DType::float32 ? Tolerance{.relative = 3e-5, .absolute = 1e-5}
                                 : Tolerance{.relative = 1e-11, .absolute = 1e-12};
}

class Gspmm : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Gspmm, testing::ValuesIn(every_device), device_name);

TEST_P(Gspmm, AddsUpWeightedSourcesOfASmallGraphByHand) {
  const Graph graph = Graph::from_edges({0, 2, 1}, {1, 1, 0}, {.num_nodes = 3});
  const Tensor v = here(Tensor::from_vector<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  const Tensor a = here(Tensor::from_vector<float>({10, 100, 1000}, {3, 1}));
  expect_close(gspmm(graph, BinaryOp::mul, ReduceOp::sum, v, a), {3000, 4000, 510, 620, 0, 0});
  expect_close(gspmm(graph, BinaryOp::copy_lhs, ReduceOp::max, v), {3, 4, 5, 6, 0, 0});
}

TEST_P(Gspmm, MatchesTheReferenceOnEveryGraph) {
  for (const zoo::NamedGraph& named : message_passing_graphs(device())) {
    SCOPED_TRACE(named.name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const ReduceOp reduce : all_reductions) {
        for (const BinaryOp op : all_messages) {
          SCOPED_TRACE(testing::Message() << name_of(op) << " " << name_of(reduce) << " " << name_of(dtype));
          const auto make = [&](Target target, const std::vector<std::int64_t>& row, std::uint64_t seed) {
            return here(reduce == ReduceOp::prod
                            ? tame_features(named.graph, target, row, dtype, seed, scale_to_one(op))
                            : features(named.graph, target, row, dtype, seed));
          };
          const Tensor lhs = make(Target::source, {2, 3}, 1);
          const Tensor rhs = make(Target::edge, {2, op == BinaryOp::dot ? 3 : 1}, 2);
          expect_close(gspmm(named.graph, op, reduce, lhs, rhs),
                       reference::gspmm(named.graph, op, reduce, {lhs, Target::source}, {rhs, Target::edge}).tensor(),
                       sum_tolerance(dtype));
        }
      }
    }
  }
}

TEST_P(Gspmm, MatchesTheReferenceForAllPlacesAndShapesOfTheOperands) {
  for (const Graph& graph : {zoo::random_graph(12, 50, 1), zoo::random_bipartite(9, 14, 60, 2)}) {
    for (const ReduceOp reduce : all_reductions) {
      for (const BinaryOp op : all_messages) {
        int turn = 0;
        for (const ShapePair& shapes : shape_pairs(op)) {
          const Target left = all_targets[turn % 3], right = all_targets[turn / 3 % 3];
          ++turn;
          const Tensor lhs = here(features(graph, left, shapes.lhs, DType::float64, 1));
          const Tensor rhs = here(features(graph, right, shapes.rhs, DType::float64, 2));
          SCOPED_TRACE(testing::Message() << name_of(op) << " " << name_of(reduce) << " " << to_string(lhs.shape())
                                          << to_string(rhs.shape()));
          expect_close(gspmm(graph, op, reduce, lhs, rhs, {.lhs = left, .rhs = right}),
                       reference::gspmm(graph, op, reduce, {lhs, left}, {rhs, right}).tensor());
        }
      }
    }
  }
}

TEST(Gspmm, ReducesASplitRowOfAHundredThousandEdges) {
  const Graph graph = zoo::split_row(100'000);
  for (const ReduceOp reduce : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max}) {
    const Tensor v = features(graph, Target::source, {3}, DType::float32, 1);
    expect_close(gspmm(graph, BinaryOp::copy_lhs, reduce, v),
                 reference::gspmm(graph, BinaryOp::copy_lhs, reduce, {v, Target::source}, {}).tensor());
  }
}

TEST(Gspmm, AddsUpTenMillionOnesExactly) {
  const std::int64_t count = 10'000'000;
  const std::vector<std::int32_t> zeros_ids(static_cast<std::size_t>(count), 0);
  const Graph graph = Graph::bipartite(zeros_ids, zeros_ids, {.num_src = 1, .num_dst = 1});
  EXPECT_EQ(gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, ones({1, 1})).item<float>(), 1e7f);
  // 0.1 is not a float: one running sum in float32 would be wrong by more than 8 percent.
  const float tenth = 0.1f;
  EXPECT_NEAR(gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, full({1, 1}, 0.1)).item<float>(), 1e7 * double{tenth},
              1e6 * 2e-4);
}

TEST(Gspmm, EveryStrategyGivesTheSameBits) {
  for (const Graph& graph : {zoo::power_law(700, 30000, 1), zoo::split_row(5000, true)}) {
    for (const ReduceOp reduce : all_reductions) {
      for (const BinaryOp op : {BinaryOp::mul, BinaryOp::copy_lhs, BinaryOp::dot}) {
        SCOPED_TRACE(testing::Message() << name_of(op) << " " << name_of(reduce));
        const Tensor lhs = tame_features(graph, Target::source, {5, 13}, DType::float32, 1);
        const Tensor rhs = tame_features(graph, Target::edge, {5, op == BinaryOp::dot ? 13 : 1}, DType::float32, 2);
        const Tensor expected = gspmm(graph, op, reduce, lhs, rhs, {.strategy = Strategy::serial});
        for (const Strategy strategy : all_strategies) {
          SCOPED_TRACE(name_of(strategy));
          expect_same_bits(gspmm(graph, op, reduce, lhs, rhs, {.strategy = strategy}), expected);
        }
      }
    }
  }
}

TEST(Gspmm, CutsVeryWideFeaturesIntoBlocks) {
  const Graph graph = zoo::random_graph(4, 20, 1);
  const Tensor v = features(graph, Target::source, {20011}, DType::float32, 1);
  EXPECT_EQ(chosen_strategy(graph, 20011), Strategy::features);
  expect_close(gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, v),
               reference::gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, {v, Target::source}, {}).tensor());
}

TEST(Gspmm, ChoosesItsStrategyBySize) {
  EXPECT_EQ(chosen_strategy(zoo::chain(10), 8), Strategy::serial);
  EXPECT_EQ(chosen_strategy(zoo::random_graph(1000, 20000, 1), 64), Strategy::rows);
  EXPECT_EQ(chosen_strategy(zoo::split_row(20000), 64), Strategy::split_rows);
}

TEST(Gspmm, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Graph graph = zoo::power_law(2000, 40000, 1);
  for (const ReduceOp reduce : all_reductions) {
    SCOPED_TRACE(name_of(reduce));
    expect_same_bits_for_threads([&] {
      Tensor lhs = tame_features(graph, Target::source, {3, 19}, DType::float32, 1).set_requires_grad(true);
      Tensor rhs = tame_features(graph, Target::edge, {3, 1}, DType::float32, 2).set_requires_grad(true);
      const Tensor result = gspmm(graph, BinaryOp::mul, reduce, lhs, rhs);
      result.backward({.gradient = random_tensor(result.shape())});
      return std::vector<Tensor>{result, lhs.grad(), rhs.grad()};
    });
  }
}

TEST_P(Gspmm, GradientMatchesFiniteDifferencesForAllPlacesOfTheOperands) {
  const Graph graph = zoo::random_bipartite(4, 5, 16, 2);
  for (const ReduceOp reduce : all_reductions) {
    for (const BinaryOp op : all_messages) {
      for (const Target left : all_targets) {
        for (const Target right : all_targets) {
          SCOPED_TRACE(testing::Message()
                       << name_of(op) << " " << name_of(reduce) << " " << name_of(left) << " " << name_of(right));
          // Operands on the destinations make messages of a row equal, and with them maxima that have no derivative.
          const bool ties =
              (reduce == ReduceOp::max || reduce == ReduceOp::min) && left != Target::edge && right != Target::edge;
          if (ties) continue;
          expect_gradient(
              [&](const std::vector<Tensor>& x) {
                return gspmm(graph, op, reduce, x[0], x[1], {.lhs = left, .rhs = right});
              },
              {features(graph, left, {2, 3}, DType::float64, 1), features(graph, right, {2, 3}, DType::float64, 2)});
        }
      }
    }
  }
}

TEST_P(Gspmm, GradientIsSummedOverBroadcastAxes) {
  const Graph graph = zoo::random_graph(5, 12, 4);
  for (const ReduceOp reduce : all_reductions) {
    for (const BinaryOp op : all_messages) {
      if (is_copy(op)) continue;
      for (const ShapePair& shapes : shape_pairs(op)) {
        const Tensor lhs = features(graph, Target::source, shapes.lhs, DType::float64, 1);
        const Tensor rhs = features(graph, Target::edge, shapes.rhs, DType::float64, 2);
        SCOPED_TRACE(testing::Message() << name_of(op) << " " << name_of(reduce) << " " << to_string(lhs.shape())
                                        << to_string(rhs.shape()));
        expect_gradient([&](const std::vector<Tensor>& x) { return gspmm(graph, op, reduce, x[0], x[1]); }, {lhs, rhs},
                        {.tolerance = reduce == ReduceOp::prod ? 1e-3 : 1e-6});
      }
    }
  }
}

TEST_P(Gspmm, GradientReachesEverySourceOfASplitRow) {
  const Graph graph = zoo::split_row(1100, true);
  for (const ReduceOp reduce : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max}) {
    expect_gradient([&](const std::vector<Tensor>& x) { return gspmm(graph, BinaryOp::mul, reduce, x[0], x[1]); },
                    {random_distinct({1101}, DType::float64, 1), ones({graph.num_edges()}, DType::float64)},
                    {.tolerance = 1e-5});
  }
}

TEST_P(Gspmm, GradientOfAProductIsRightWhereMessagesAreZero) {
  // Node 3 has no zero, node 4 one, node 5 two.
  const Graph graph = Graph::bipartite({0, 1, 2, 0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 1, 2, 2, 2});
  const Tensor weights = Tensor::from_vector<double>({2, 3, 4, 2, 0, 4, 0, 3, 0}, {9});
  expect_gradient(
      [&](const std::vector<Tensor>& x) { return gspmm(graph, BinaryOp::copy_rhs, ReduceOp::prod, {}, x[0]); },
      {weights});
}

TEST_P(Gspmm, MaximumPassesItsGradientToTheFirstOfEqualEdges) {
  // Edges 1 and 2 have the same value; edge 1 was given first, though its source comes last in the row.
  const Graph graph = Graph::from_edges({0, 2, 1}, {3, 3, 3}, {.num_nodes = 4});
  for (const ReduceOp reduce : {ReduceOp::max, ReduceOp::min}) {
    const float sign = reduce == ReduceOp::max ? 1 : -1;
    Tensor weights = here(Tensor::from_vector<float>({sign, 5 * sign, 5 * sign}, {3})).set_requires_grad(true);
    gspmm(graph, BinaryOp::copy_rhs, reduce, {}, weights).backward({.gradient = here(ones({4}))});
    expect_close(weights.grad(), {0, 1, 0});
  }
}

TEST_P(Gspmm, ATieInASplitRowGoesToTheFirstEdgeWhicheverSplitHoldsIt) {
  const Graph graph = zoo::split_row(3000);  // sources descend, so edge 0 comes from the last source
  Tensor values = here(ones({3001, 1})).set_requires_grad(true);
  gspmm(graph, BinaryOp::copy_lhs, ReduceOp::max, values).backward({.gradient = here(ones({3001, 1}))});
  EXPECT_EQ(values.grad().to_vector<float>()[3000], 1);
}

TEST(Gspmm, TheGradientOfAnExtremeReachesItsOriginInADenseGraph) {
  constexpr std::int64_t nodes = 40, width = 300;  // degrees for which arg_indices are scattered, in several chunks
  Graph graph = zoo::random_graph(nodes, 90 * (nodes + 1), 3);
  graph = Graph::bipartite(std::vector(graph.coo().src.begin(), graph.coo().src.end()),
                           std::vector(graph.coo().dst.begin(), graph.coo().dst.end()),
                           {.num_src = nodes, .num_dst = nodes + 1});  // the last one has no edges
  const Tensor seed = random_tensor({nodes + 1, width}, DType::float64, 9);
  for (const ReduceOp reduce : {ReduceOp::max, ReduceOp::min}) {
    for (const Target target : {Target::source, Target::destination, Target::edge}) {
      const Tensor x = random_tensor({mp::rows_of_target(graph, target), width}, DType::float64, 4);
      const auto gradient = [&] {
        const Tensor leaf = x.detach().clone().set_requires_grad(true);
        gspmm(graph, BinaryOp::copy_lhs, reduce, leaf, {}, {.lhs = target}).backward({.gradient = seed});
        return leaf.grad();
      };
      const std::vector<double> values = x.to_vector<double>(), flowing = seed.to_vector<double>();
      std::vector<double> expected(values.size(), 0);
      for (std::int64_t feature = 0; feature < width; ++feature) {
        std::vector<std::int64_t> best(nodes + 1, -1);  // the row of x that each destination got
        for (std::int64_t edge = 0; edge < graph.num_edges(); ++edge) {
          const std::int64_t src = graph.coo().src[edge], dst = graph.coo().dst[edge];
          const std::int64_t row = target == Target::source ? src : target == Target::destination ? dst : edge;
          const double sign = reduce == ReduceOp::max ? 1 : -1;
          const auto value = [&](std::int64_t origin) { return sign * values[origin * width + feature]; };
          if (best[dst] < 0 || value(row) > value(best[dst])) best[dst] = row;
        }
        for (std::int64_t dst = 0; dst < nodes; ++dst) {
          expected[best[dst] * width + feature] += flowing[dst * width + feature];
        }
      }
      expect_close(gradient(), expected);
      expect_same_bits_for_threads(gradient);
    }
  }
}

TEST_P(Gspmm, RowsOfMinusInfinityHaveAnArgIndexToo) {
  const Graph graph = Graph::from_edges({0, 1}, {1, 1}, {.num_nodes = 2});
  Tensor values = here(full({2, 1}, -INFINITY)).set_requires_grad(true);
  const Tensor result = gspmm(graph, BinaryOp::copy_lhs, ReduceOp::max, values);
  EXPECT_EQ(result.to_vector<float>()[1], -INFINITY);
  result.backward({.gradient = here(ones({2, 1}))});
  expect_close(values.grad(), {1, 0});
}

TEST_P(Gspmm, ANaNMessageIsMaximumAndMinimum) {
  const Graph graph = Graph::from_edges({0, 1, 2}, {0, 0, 0}, {.num_nodes = 3});
  const Tensor values = here(Tensor::from_vector<float>({1, NAN, 3}, {3, 1}));
  EXPECT_TRUE(std::isnan(gspmm(graph, BinaryOp::copy_lhs, ReduceOp::max, values).to_vector<float>()[0]));
  EXPECT_TRUE(std::isnan(gspmm(graph, BinaryOp::copy_lhs, ReduceOp::min, values).to_vector<float>()[0]));
}

TEST_P(Gspmm, DestinationsWithoutEdgesGetZeroOrWhatIsAskedFor) {
  const Graph graph = Graph::from_edges({0}, {1}, {.num_nodes = 3});
  for (const ReduceOp reduce : all_reductions) {
    expect_close(gspmm(graph, BinaryOp::copy_lhs, reduce, here(full({3, 1}, 7))), {0, 7, 0});
    expect_close(gspmm(graph, BinaryOp::copy_lhs, reduce, here(full({3, 1}, 7)), {}, {.empty_value = -1}), {-1, 7, -1});
  }
}

TEST_P(Gspmm, DotOverAnEmptyAxisIsAMessageOfZero) {
  const Graph graph = Graph::from_edges({0}, {1}, {.num_nodes = 3});
  for (const ReduceOp reduce : all_reductions) {
    Tensor lhs = here(ones({3, 2, 0})).set_requires_grad(true);
    const Tensor result = gspmm(graph, BinaryOp::dot, reduce, lhs, here(ones({1, 2, 0})), {.empty_value = 4});
    expect_close(result, {4, 4, 0, 0, 4, 4});
    result.backward({.gradient = here(ones({3, 2, 1}))});
    EXPECT_EQ(lhs.grad().shape(), (Shape{3, 2, 0}));
  }
}

TEST_P(Gspmm, WorksWithoutNodesEdgesOrFeatures) {
  for (const ReduceOp reduce : all_reductions) {
    EXPECT_EQ(gspmm(Graph(), BinaryOp::copy_lhs, reduce, here(zeros({0, 4}))).shape(), (Shape{0, 4}));
    const Graph graph = Graph::from_edges({0}, {1}, {.num_nodes = 2});
    Tensor values = here(zeros({2, 0})).set_requires_grad(true);
    const Tensor result = gspmm(graph, BinaryOp::copy_lhs, reduce, values);
    EXPECT_EQ(result.shape(), (Shape{2, 0}));
    result.backward({.gradient = here(zeros({2, 0}))});
    EXPECT_EQ(values.grad().shape(), (Shape{2, 0}));
  }
}

TEST_P(Gspmm, KeepsNothingWhereNothingRequiresAGradient) {
  const Graph graph = Graph::from_edges({0}, {1}, {.num_nodes = 2});
  EXPECT_TRUE(gspmm(graph, BinaryOp::copy_lhs, ReduceOp::max, here(ones({2, 3}))).is_leaf());
}

TEST(Gspmm, NamesTheOperandWhenRowsDoNotMatchEdges) {
  const Graph graph = Graph::from_edges({0, 1}, {1, 0}, {.num_nodes = 2});
  EXPECT_THAT(error_message<ShapeError>([&] {
                gspmm(graph, BinaryOp::mul, ReduceOp::sum, ones({2, 3}), ones({7, 1}));
              }),
              testing::AllOf(HasSubstr("rhs"), HasSubstr("[7, 1]"), HasSubstr("edge")));
}

}  // namespace
}  // namespace bough
