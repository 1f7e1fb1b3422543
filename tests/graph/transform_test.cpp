#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "bough/graph/batch.h"
#include "bough/graph/graph.h"
#include "tests/support/errors.h"
#include "tests/support/graph_compare.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using test::expect_same_graph;
using test::graph_error;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

/// That edge e of the part is edge edge_ids[e] of the whole, type included.
void expect_edges_of(const EdgeSubset& part, const Graph& whole) {
  ASSERT_EQ(part.edge_ids.size(), part.graph.num_edges());
  EXPECT_EQ(part.graph.num_src(), whole.num_src());
  EXPECT_EQ(part.graph.num_dst(), whole.num_dst());
  EXPECT_EQ(part.graph.num_edge_types(), whole.num_edge_types());
  for (std::int64_t edge = 0; edge < part.graph.num_edges(); ++edge) {
    const std::int32_t from = part.edge_ids[edge];
    ASSERT_EQ(part.graph.coo().src[edge], whole.coo().src[from]);
    ASSERT_EQ(part.graph.coo().dst[edge], whole.coo().dst[from]);
    if (whole.edge_types().empty()) continue;
    ASSERT_EQ(part.graph.edge_types()[edge], whole.edge_types()[from]);
  }
}

TEST(Subgraph, KeepsTheEdgesIntoSomeNodesInTheirOrder) {
  for (const auto& [name, graph] : zoo::all()) {
    SCOPED_TRACE(name);
    std::vector<std::int32_t> nodes;
    for (auto node = static_cast<std::int32_t>(graph.num_dst()) - 1; node >= 0; node -= 3)
      nodes.insert(nodes.end(), 2, node);
    const EdgeSubset part = graph.in_subgraph(nodes);
    expect_edges_of(part, graph);
    std::vector<std::int32_t> expected;
    for (std::int32_t edge = 0; edge < graph.num_edges(); ++edge) {
      if (std::ranges::find(nodes, graph.coo().dst[edge]) != nodes.end()) expected.push_back(edge);
    }
    EXPECT_THAT(part.edge_ids, ElementsAreArray(expected));
    expect_same_graph(graph.reverse().out_subgraph(nodes).graph, part.graph.reverse());
  }
}

TEST(Subgraph, OfABatchKeepsItsParts) {
  const Graph graph = batch({zoo::chain(3), zoo::split_row(2), zoo::chain(3)});
  const EdgeSubset part = graph.in_subgraph({2, 3, 7});
  EXPECT_THAT(part.graph.edge_offsets(), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(part.graph.graph_offsets(), ElementsAreArray(graph.graph_offsets()));
}

TEST(Subgraph, NamesANodeThatIsNotThere) {
  EXPECT_THAT(graph_error([] { zoo::chain(3).in_subgraph({3}); }), HasSubstr("[Graph::in_subgraph] entry 0 is node 3"));
}

TEST(Sort, OrdersEdgesByOneEndThenTheOther) {
  for (const auto& [name, graph] : zoo::all()) {
    SCOPED_TRACE(name);
    for (const EdgeEnd end : {EdgeEnd::source, EdgeEnd::destination}) {
      const EdgeSubset sorted = graph.sort(end);
      expect_edges_of(sorted, graph);
      const CompressedView view = end == EdgeEnd::source ? sorted.graph.csr() : sorted.graph.csc();
      EXPECT_TRUE(view.in_edge_order);
      EXPECT_THAT(sorted.edge_ids,
                  ElementsAreArray(end == EdgeEnd::source ? graph.csr().edge_ids : graph.csc().edge_ids));
    }
  }
}

TEST(Sort, ReturnsASortedGraphAsItIs) {
  const Graph graph = zoo::causal_window(10, 2);
  EXPECT_TRUE(graph.sort().graph.same_as(graph));
}

TEST(Simplify, MergesEdgesWithTheSameEndsAndTypeIntoTheFirst) {
  for (const auto& [name, graph] : zoo::all()) {
    for (const bool merge_types : {false, true}) {
      SCOPED_TRACE(name);
      const SimplifiedGraph simple = graph.simplify({.merge_types = merge_types});
      std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::int32_t> numbers;
      std::vector<std::int32_t> edge_map, first;
      for (std::int32_t edge = 0; edge < graph.num_edges(); ++edge) {
        const std::int32_t type = merge_types || graph.edge_types().empty() ? 0 : graph.edge_types()[edge];
        const auto [entry, is_new] = numbers.emplace(std::tuple(graph.coo().src[edge], graph.coo().dst[edge], type),
                                                     static_cast<std::int32_t>(numbers.size()));
        if (is_new) first.push_back(edge);
        edge_map.push_back(entry->second);
      }
      EXPECT_THAT(simple.edge_map, ElementsAreArray(edge_map));
      EXPECT_THAT(simple.first_edges, ElementsAreArray(first));
      expect_edges_of({simple.graph, simple.first_edges}, graph);
    }
  }
}

TEST(SelfLoops, ComeAfterTheGivenEdges) {
  const Graph graph = Graph::from_edges({0, 1}, {1, 1}, {.num_nodes = 3});
  const Graph looped = graph.add_self_loops();
  EXPECT_THAT(looped.coo().src, ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(looped.coo().dst, ElementsAre(1, 1, 0, 1, 2));
  EXPECT_EQ(looped.num_edge_types(), 0);
  EXPECT_THAT(graph.add_self_loops({.only_missing = true}).coo().src, ElementsAre(0, 1, 0, 2));
}

TEST(SelfLoops, GetATypeOfTheirOwnUnlessTold) {
  const Graph graph = Graph::from_edges({0, 1}, {1, 1}, {.num_nodes = 2, .edge_types = {1, 0}});
  EXPECT_THAT(graph.add_self_loops().edge_types(), ElementsAre(1, 0, 2, 2));
  EXPECT_EQ(graph.add_self_loops().num_edge_types(), 3);
  EXPECT_THAT(graph.add_self_loops({.edge_type = 0}).edge_types(), ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(graph.add_self_loops({.edge_type = 0}).num_edge_types(), 2);
  EXPECT_THAT(graph_error([&] { graph.add_self_loops({.edge_type = -1}); }), HasSubstr("it is -1"));
}

TEST(SelfLoops, StayWithTheirGraphInABatch) {
  const Graph graph = batch({zoo::chain(2), zoo::chain(3)}).add_self_loops();
  const std::vector<Graph> parts = unbatch(graph);
  ASSERT_EQ(parts.size(), 2u);
  expect_same_graph(parts[0], zoo::chain(2).add_self_loops());
  expect_same_graph(parts[1], zoo::chain(3).add_self_loops());
}

TEST(SelfLoops, AreRefusedWhereTheyMeanNothing) {
  EXPECT_THAT(graph_error([] { zoo::random_bipartite(2, 2, 3, 1).add_self_loops(); }), HasSubstr("bipartite"));
  EXPECT_THAT(graph_error([] { zoo::chain(3).add_self_loops({.edge_type = 1}); }), HasSubstr("no types"));
}

TEST(Block, HasTheEdgesIntoSomeNodesBetweenPositions) {
  const Graph chain = zoo::chain(10);
  const IdArray sources = chain.with_sources({9}, {8, 9});
  EXPECT_THAT(sources, ElementsAre(7, 8, 9));
  const EdgeSubset block = chain.block(sources, {8, 9});
  EXPECT_TRUE(block.graph.is_bipartite());
  EXPECT_THAT(block.graph.coo().src, ElementsAre(0, 1));
  EXPECT_THAT(block.graph.coo().dst, ElementsAre(0, 1));
  EXPECT_THAT(block.edge_ids, ElementsAre(7, 8));
  EXPECT_EQ(chain.block({}, {}).graph.num_src(), 0);
}

TEST(Block, RefusesAnEdgeFromElsewhereAndNodesThatAreNotThere) {
  const Graph chain = zoo::chain(3);
  EXPECT_THAT(graph_error([&] { chain.block({1}, {1}); }), HasSubstr("comes from node 0"));
  EXPECT_THAT(graph_error([&] { chain.block({3}, {1}); }), HasSubstr("node 3"));
  EXPECT_THAT(graph_error([&] { chain.with_sources({0}, {3}); }), HasSubstr("node 3"));
}

}  // namespace
}  // namespace bough
