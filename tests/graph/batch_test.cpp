#include "bough/graph/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/graph_compare.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using test::expect_same_graph;
using test::graph_error;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Batch, IsTheDisjointUnion) {
  const Graph first = Graph::from_edges({0, 1}, {1, 0}, {.num_nodes = 3, .edge_types = {0, 4}});
  const Graph empty = Graph::from_edges({}, {}, {.num_nodes = 2});
  const Graph second = Graph::from_edges({1}, {1}, {.num_nodes = 2, .edge_types = {1}});
  const Graph all = batch({first, empty, second});
  EXPECT_EQ(all.num_graphs(), 3);
  EXPECT_EQ(all.num_nodes(), 7);
  EXPECT_THAT(all.graph_offsets(), ElementsAre(0, 3, 5, 7));
  EXPECT_THAT(all.edge_offsets(), ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(all.coo().src, ElementsAre(0, 1, 6));
  EXPECT_THAT(all.coo().dst, ElementsAre(1, 0, 6));
  EXPECT_THAT(all.edge_types(), ElementsAre(0, 4, 1));
  EXPECT_EQ(all.num_edge_types(), 5);
}

TEST(Batch, ComesApartIntoItsGraphs) {
  const std::vector<Graph> graphs{zoo::random_graph(20, 100, 1), zoo::chain(5), Graph(), zoo::split_row(7).reverse()};
  const std::vector<Graph> parts = unbatch(batch(graphs));
  ASSERT_EQ(parts.size(), graphs.size());
  for (std::size_t i = 0; i < parts.size(); ++i) expect_same_graph(parts[i], graphs[i]);
}

TEST(Batch, OfBipartiteGraphsCountsBothSides) {
  const std::vector<Graph> graphs{zoo::random_bipartite(4, 3, 9, 1), zoo::random_bipartite(2, 5, 6, 2).reverse()};
  const Graph all = batch(graphs);
  EXPECT_THAT(all.src_offsets(), ElementsAre(0, 4, 9));
  EXPECT_THAT(all.dst_offsets(), ElementsAre(0, 3, 5));
  EXPECT_THAT(all.reverse().src_offsets(), ElementsAre(0, 3, 5));
  EXPECT_THAT(graph_error([&] { all.graph_offsets(); }), HasSubstr("src_offsets()"));
  const std::vector<Graph> parts = unbatch(all);
  for (std::size_t i = 0; i < parts.size(); ++i) expect_same_graph(parts[i], graphs[i]);
}

TEST(Batch, CountsTheGraphsOfBatchesAmongItsArguments) {
  const Graph nested = batch({batch({zoo::chain(2), zoo::chain(3)}), zoo::chain(4)});
  expect_same_graph(nested, batch({zoo::chain(2), zoo::chain(3), zoo::chain(4)}));
}

TEST(Batch, OfSortedGraphsIsSorted) {
  const Graph all = batch({zoo::causal_window(9, 2), zoo::causal_window(5, 3)});
  EXPECT_TRUE(all.csc(EdgeIds::implied).in_edge_order);
}

TEST(Batch, OfThousandsOfSmallGraphsIsRight) {
  std::vector<Graph> graphs;
  for (std::uint64_t i = 0; i < 3'000; ++i) graphs.push_back(zoo::random_graph(1 + i % 7, 3 * (i % 5), i, 2));
  const std::vector<Graph> parts = unbatch(batch(graphs));
  ASSERT_EQ(parts.size(), graphs.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ASSERT_TRUE(std::ranges::equal(parts[i].coo().src, graphs[i].coo().src));
    ASSERT_TRUE(std::ranges::equal(parts[i].coo().dst, graphs[i].coo().dst));
    ASSERT_TRUE(std::ranges::equal(parts[i].edge_types(), graphs[i].edge_types()));
    ASSERT_EQ(parts[i].num_nodes(), graphs[i].num_nodes());
  }
}

TEST(Batch, OfNothingIsEmpty) {
  const Graph nothing = batch({});
  EXPECT_EQ(nothing.num_graphs(), 0);
  EXPECT_EQ(nothing.num_nodes(), 0);
  EXPECT_TRUE(unbatch(nothing).empty());
  EXPECT_EQ(zoo::chain(3).num_graphs(), 1);
  EXPECT_THAT(zoo::chain(3).graph_offsets(), ElementsAre(0, 3));
}

TEST(Batch, RefusesToMixKinds) {
  const Graph typed = Graph::from_edges({0}, {0}, {.edge_types = {1}});
  EXPECT_THAT(graph_error([&] {
                batch({zoo::chain(2), zoo::random_bipartite(2, 2, 1, 1)});
              }),
              HasSubstr("graph 1 is bipartite"));
  EXPECT_THAT(graph_error([&] { batch({typed, zoo::chain(2)}); }), HasSubstr("graph 1 has no edge types"));
}

TEST(Batch, RefusesAUnionBeyondThirtyTwoBits) {
  const Graph large = Graph::from_edges({}, {}, {.num_nodes = 1'500'000'000});
  EXPECT_THAT(graph_error([&] { batch({large, large}); }), HasSubstr("3000000000 sources"));
}

TEST(Batch, CanBeMadeInOneGo) {
  const Graph all =
      Graph::from_edges({0, 3}, {1, 2}, {.num_nodes = 4, .graph_offsets = {0, 2, 4}, .edge_offsets = {0, 1, 2}});
  EXPECT_EQ(all.num_graphs(), 2);
  EXPECT_THAT(unbatch(all)[1].coo().src, ElementsAre(1));
}

TEST(Batch, RefusesOffsetsThatDoNotFitTheEdges) {
  const auto error = [](std::vector<std::int64_t> nodes, std::vector<std::int64_t> edges) {
    return graph_error([&] {
      Graph::from_edges({0, 3}, {1, 2}, {.num_nodes = 4, .graph_offsets = nodes, .edge_offsets = edges});
    });
  };
  EXPECT_THAT(error({0, 3, 4}, {0, 1, 2}), HasSubstr("edge 1 from 3 to 2 belongs to graph 1 but leaves its nodes"));
  EXPECT_THAT(error({0, 2, 4}, {}), HasSubstr("edge_offsets"));
  EXPECT_THAT(error({}, {0, 1, 2}), HasSubstr("graph_offsets"));
  EXPECT_THAT(error({0, 4}, {0, 1, 2}), HasSubstr("offsets of 1 graphs"));
  EXPECT_THAT(error({0, 9, 4}, {0, 1, 2}), HasSubstr("never descend"));
}

}  // namespace
}  // namespace bough
