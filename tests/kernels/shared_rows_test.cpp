#include "kernels/plan/shared_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bough/detail/mp/traversal_plan.h"
#include "bough/ops/gspmm.h"
#include "kernels/reference/message_passing.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/compare.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;

constexpr ReduceOp shared_reductions[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min};

Graph partition(std::int64_t length, std::int64_t k) {
  return generators().make("bpt", {{"k", k}})->build({.length = length, .causal = true}).graph;
}

/// Every destination reads the same sources, no two of which have consecutive ids.
Graph scattered(std::int64_t sources, std::int32_t destinations) {
  std::vector<std::int32_t> src, dst;
  for (std::int32_t to = 0; to < destinations; ++to) {
    for (std::int32_t i = 0; i < sources; ++i) src.push_back(2 * i), dst.push_back(to);
  }
  return Graph::bipartite(src, dst, {.num_src = 2 * sources, .num_dst = destinations});
}

/// The sources of a list with all its parts written out, in ascending order.
std::vector<std::int32_t> written_out(const mp::SharedRows& plan, std::int64_t list, std::int64_t first_of_group) {
  std::vector<std::int32_t> sources;
  for (std::int64_t i = plan.offsets[static_cast<std::size_t>(list)];
       i < plan.offsets[static_cast<std::size_t>(list) + 1]; ++i) {
    const std::int32_t part = plan.parts[static_cast<std::size_t>(i)];
    if (part >= 0 && part < plan.sources) {
      sources.push_back(part);
      continue;
    }
    const std::int64_t earlier = part < 0 ? first_of_group + (-1 - part) : part - plan.sources;
    EXPECT_LT(earlier, list);
    const std::vector<std::int32_t> more = written_out(plan, earlier, first_of_group);
    sources.insert(sources.end(), more.begin(), more.end());
  }
  std::ranges::sort(sources);
  return sources;
}

void expect_every_edge_once(const Graph& graph, mp::Direction direction) {
  const mp::Adjacency adjacency = mp::edges_by(graph, direction);
  const mp::SharedRows plan =
      mp::share_rows(adjacency, direction == mp::Direction::by_source ? graph.num_dst() : graph.num_src());
  for (std::int64_t group = 0; group < plan.num_groups(); ++group) {
    const std::int64_t first = plan.groups[static_cast<std::size_t>(group)];
    const std::int64_t rows = std::min(mp::SharedRows::group_rows, plan.rows - plan.first_row(group));
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t row = plan.first_row(group) + i;
      std::vector<std::int32_t> expected(adjacency.neighbours + adjacency.offsets[row],
                                         adjacency.neighbours + adjacency.offsets[row + 1]);
      std::ranges::sort(expected);
      ASSERT_EQ(written_out(plan, first + plan.common_parts(group) + i, first), expected) << "row " << row;
    }
  }
}

TEST(SharedRows, HoldEveryEdgeOnce) {
  std::vector<zoo::NamedGraph> graphs = message_passing_graphs();
  graphs.push_back({"partition", partition(500, 4)});
  graphs.push_back({"wide partition", partition(500, 64)});
  graphs.push_back({"scattered", scattered(3000, 70)});
  for (const zoo::NamedGraph& named : graphs) {
    SCOPED_TRACE(named.name);
    expect_every_edge_once(named.graph, mp::Direction::by_destination);
    expect_every_edge_once(named.graph, mp::Direction::by_source);
  }
}

TEST(SharedRows, SpareMostOfTheWorkOfPartitionGraphsAndNoneOfARandomOne) {
  EXPECT_LT(shared_work(partition(2048, 4)), 0.4);
  EXPECT_LT(shared_work(partition(2048, 64)), 0.1);
  EXPECT_EQ(shared_work(zoo::random_graph(5000, 60000, 1)), 1);
  EXPECT_EQ(shared_work(Graph()), 1);
}

TEST(SharedRows, KeepEqualAndUnorderedEdges) {
  // Two rows with the same run, one of them backwards and with an edge twice.
  std::vector<std::int32_t> src, dst;
  for (std::int32_t i = 0; i < 64; ++i) src.push_back(i), dst.push_back(0);
  for (std::int32_t i = 64; i-- > 0;) src.push_back(i), dst.push_back(1);
  src.push_back(7), dst.push_back(1);
  const Graph graph = Graph::bipartite(src, dst, {.num_src = 64, .num_dst = 2});
  const Tensor values = features(graph, Target::source, {33}, DType::float64, 1);
  expect_close(gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, values),
               reference::gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, {values, Target::source}, {}).tensor());
}

TEST(SharedRows, MatchTheReferenceForAllReductionsAndWidths) {
  for (const Graph& graph : {partition(150, 4), zoo::causal_window(100, 30), scattered(1500, 4)}) {
    ASSERT_LT(shared_work(graph), 1);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const std::int64_t width : {32, 45, 300}) {
        const Tensor values = random_tensor({graph.num_src(), width}, dtype, 1);
        for (const ReduceOp reduce : shared_reductions) {
          SCOPED_TRACE(testing::Message() << name_of(reduce) << " " << name_of(dtype) << " " << width);
          expect_close(gspmm(graph, BinaryOp::copy_lhs, reduce, values, {}, {.empty_value = 3}),
                       reference::gspmm(graph, BinaryOp::copy_lhs, reduce, {values, Target::source}, {}, 3).tensor(),
                       dtype == DType::float32 ? Tolerance{.relative = 1e-4, .absolute = 1e-4}
                                               : Tolerance{.relative = 1e-11, .absolute = 1e-11});
        }
      }
    }
  }
}

TEST(SharedRows, PassANaNToTheRowsThatReadIt) {
  const Graph graph = zoo::causal_window(100, 20);
  Tensor values = ones({100, 40});
  values.data<float>()[50 * 40] = NAN;
  for (const ReduceOp reduce : shared_reductions) {
    const std::vector<float> result = gspmm(graph, BinaryOp::copy_lhs, reduce, values).to_vector<float>();
    for (std::size_t row = 0; row < 100; ++row) {
      EXPECT_EQ(std::isnan(result[row * 40]), row >= 50 && row <= 70) << name_of(reduce) << " of row " << row;
    }
  }
}

TEST(SharedRows, EveryStrategyAndNumberOfThreadsGivesTheSameBits) {
  const Graph graph = partition(700, 8);
  for (const ReduceOp reduce : shared_reductions) {
    const Tensor values = random_tensor({graph.num_src(), 130});
    const Tensor expected = gspmm(graph, BinaryOp::copy_lhs, reduce, values, {}, {.strategy = Strategy::serial});
    for (const Strategy strategy : {Strategy::rows, Strategy::split_rows, Strategy::features}) {
      expect_same_bits(gspmm(graph, BinaryOp::copy_lhs, reduce, values, {}, {.strategy = strategy}), expected);
    }
    expect_same_bits_for_threads([&] {
      Tensor input = values.clone().set_requires_grad(true);
      const Tensor result = gspmm(graph, BinaryOp::copy_lhs, reduce, input);
      result.backward({.gradient = random_tensor(result.shape())});
      return std::vector<Tensor>{result, input.grad()};
    });
  }
}

TEST(SharedRows, PassGradientsBackToEverySource) {
  const Graph graph = partition(120, 4);
  Tensor values = random_tensor({graph.num_src(), 40}, DType::float64, 1).set_requires_grad(true);
  const Tensor gradient = random_tensor({graph.num_dst(), 40}, DType::float64, 2);
  gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, values).backward({.gradient = gradient});
  // The gradient of a sum of copies is the same sum along the edges turned round.
  const Graph back = graph.reverse();
  expect_close(values.grad(),
               reference::gspmm(back, BinaryOp::copy_lhs, ReduceOp::sum, {gradient, Target::source}, {}).tensor());
}

}  // namespace
}  // namespace bough
