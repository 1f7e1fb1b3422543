#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <tuple>
#include <vector>

#include "bough/core/parallel.h"
#include "bough/graph/graph.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using testing::ElementsAre;

/// The contract word by word: edges sorted by row, other end and number.
void expect_grouped(const CompressedView& view, std::span<const std::int32_t> rows,
                    std::span<const std::int32_t> others, std::int64_t num_rows) {
  std::vector<std::tuple<std::int32_t, std::int32_t, std::int32_t>> expected;
  for (std::size_t edge = 0; edge < rows.size(); ++edge) {
    expected.emplace_back(rows[edge], others[edge], static_cast<std::int32_t>(edge));
  }
  std::sort(expected.begin(), expected.end());

  ASSERT_EQ(view.num_rows(), num_rows);
  ASSERT_EQ(view.indices.size(), rows.size());
  ASSERT_EQ(view.edge_ids.size(), rows.size());
  ASSERT_EQ(view.offsets.front(), 0);
  ASSERT_EQ(view.offsets.back(), static_cast<std::int64_t>(rows.size()));
  for (std::int32_t row = 0; row < num_rows; ++row) {
    ASSERT_LE(view.offsets[row], view.offsets[row + 1]);
    for (std::int64_t at = view.offsets[row]; at < view.offsets[row + 1]; ++at) {
      ASSERT_EQ(std::make_tuple(row, view.indices[at], view.edge_ids[at]), expected[at]) << "position " << at;
    }
  }
}

void expect_right_formats(const Graph& graph) {
  expect_grouped(graph.csr(), graph.coo().src, graph.coo().dst, graph.num_src());
  expect_grouped(graph.csc(), graph.coo().dst, graph.coo().src, graph.num_dst());
}

TEST(Formats, GroupEveryGraphOfTheZoo) {
  for (const auto& [name, graph] : zoo::all(100'000)) {
    SCOPED_TRACE(name);
    expect_right_formats(graph);
    expect_right_formats(graph.reverse());
  }
}

TEST(Formats, GroupLargeGraphsThatNeedManyBuckets) {
  expect_right_formats(zoo::random_graph(50'000, 700'000, 11));
  expect_right_formats(zoo::random_graph(3, 200'000, 12));
  expect_right_formats(zoo::random_graph(3'000'000, 150'000, 13));
  expect_right_formats(zoo::power_law(100'000, 700'000, 14));
  expect_right_formats(zoo::power_law(40'000, 900'000, 14));
  expect_right_formats(zoo::causal_window(20'000, 10));
  expect_right_formats(zoo::random_bipartite(100'000, 5, 300'000, 15));
}

TEST(Formats, AreTheSameForOneTwoAndSevenThreads) {
  for (const int count : {1, 2, 7}) {
    SCOPED_TRACE(count);
    const test::ThreadCount threads(count);
    expect_right_formats(zoo::random_graph(20'000, 400'000, 21));
    expect_right_formats(zoo::power_law(20'000, 400'000, 22));
    expect_right_formats(zoo::split_row(300'000));
  }
}

TEST(Formats, ShareTheSourcesOfEdgesGivenByDestination) {
  const Graph graph = zoo::causal_window(100, 4);
  const CscView csc = graph.csc(EdgeIds::implied);
  EXPECT_TRUE(csc.in_edge_order);
  EXPECT_EQ(csc.indices.data(), graph.coo().src.data());
  EXPECT_TRUE(csc.edge_ids.empty());
  const CscView listed = graph.csc();
  EXPECT_TRUE(listed.in_edge_order);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(graph.num_edges()));
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_TRUE(std::ranges::equal(listed.edge_ids, ids));
  EXPECT_FALSE(graph.csr().in_edge_order);
}

TEST(Formats, SortSourcesInsideADestinationEvenIfDestinationsAreInOrder) {
  const Graph graph = Graph::from_edges({5, 3, 3, 0}, {0, 0, 0, 1}, {.num_nodes = 6});
  EXPECT_THAT(graph.csc().indices, ElementsAre(3, 3, 5, 0));
  EXPECT_THAT(graph.csc().edge_ids, ElementsAre(1, 2, 0, 3));
  EXPECT_FALSE(graph.csc().in_edge_order);
}

TEST(Formats, AreBuiltOnceWhenManyThreadsAsk) {
  const Graph graph = zoo::random_graph(5'000, 200'000, 31);
  std::vector<const std::int32_t*> csr(8), csc(8);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < csr.size(); ++i) {
    threads.emplace_back([&, i] {
      if (i % 2 == 0) csr[i] = graph.csr().indices.data();
      csc[i] = graph.reverse().csr().indices.data();
      csr[i] = graph.csr().indices.data();
    });
  }
  threads.clear();
  for (std::size_t i = 0; i < csr.size(); ++i) {
    EXPECT_EQ(csr[i], graph.csr().indices.data());
    EXPECT_EQ(csc[i], graph.csc().indices.data());
  }
  expect_right_formats(graph);
}

TEST(Formats, CanBeAskedForInsideAParallelLoop) {
  const test::ThreadCount threads(4);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = zoo::random_graph(2'000, 150'000, seed);
    parallel_chunks(16, 1, [&](std::int64_t i, std::int64_t) {
      const CompressedView view = i % 2 == 0 ? graph.csc() : graph.csr();
      EXPECT_EQ(view.num_edges(), 150'000);
    });
  }
  // One row so long that several threads sort it.
  const Graph graph = zoo::split_row(300'000);
  parallel_chunks(16, 1, [&](std::int64_t, std::int64_t) { EXPECT_EQ(graph.csc().num_edges(), 300'000); });
}

}  // namespace
}  // namespace bough
