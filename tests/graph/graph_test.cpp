#include "bough/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "bough/core/tensor.h"
#include "tests/support/errors.h"

namespace bough {
namespace {

using test::graph_error;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Graph, IsEmptyByDefault) {
  const Graph graph;
  EXPECT_EQ(graph.num_nodes(), 0);
  EXPECT_EQ(graph.num_edges(), 0);
  EXPECT_THAT(graph.csc().offsets, ElementsAre(0));
  EXPECT_THAT(graph.csc().edge_ids, IsEmpty());
  EXPECT_THAT(graph.in_degrees(), IsEmpty());
}

TEST(Graph, KeepsTheEdgesInTheOrderGiven) {
  const Graph graph = Graph::from_edges({2, 0, 1, 0}, {1, 1, 0, 2}, {.num_nodes = 4, .edge_types = {5, 0, 1, 1}});
  EXPECT_EQ(graph.num_nodes(), 4);
  EXPECT_EQ(graph.num_src(), 4);
  EXPECT_EQ(graph.num_dst(), 4);
  EXPECT_EQ(graph.num_edges(), 4);
  EXPECT_THAT(graph.coo().src, ElementsAre(2, 0, 1, 0));
  EXPECT_THAT(graph.coo().dst, ElementsAre(1, 1, 0, 2));
  EXPECT_THAT(graph.edge_types(), ElementsAre(5, 0, 1, 1));
  EXPECT_EQ(graph.num_edge_types(), 6);
}

TEST(Graph, TakesVectorsSpansAndArraysOfBothWidths) {
  const std::vector<std::int32_t> narrow{0, 1};
  const std::vector<std::int64_t> wide{1, 2};
  const std::array<std::int32_t, 2> fixed{2, 0};
  std::vector<std::int32_t> writable{2, 2};
  EXPECT_THAT(Graph::from_edges(narrow, wide).coo().dst, ElementsAre(1, 2));
  EXPECT_THAT(Graph::from_edges(std::span(narrow), fixed).coo().dst, ElementsAre(2, 0));
  EXPECT_THAT(Graph::from_edges(std::span(writable), std::span(wide)).coo().src, ElementsAre(2, 2));
  const Graph typed = Graph::from_edges(narrow, narrow, {.num_nodes = 3, .edge_types = std::span(narrow)});
  EXPECT_EQ(typed.num_edge_types(), 2);
}

TEST(Graph, TakesTensorsOfIds) {
  const Tensor src = Tensor::from_vector<std::int64_t>({0, 1, 2}, {3});
  const Tensor dst = Tensor::from_vector<std::int32_t>({1, 2, 0}, {3});
  const Graph graph = Graph::from_edges(src, dst, {.edge_types = dst});
  EXPECT_THAT(graph.coo().src, ElementsAre(0, 1, 2));
  EXPECT_THAT(graph.coo().dst, ElementsAre(1, 2, 0));
  EXPECT_EQ(graph.num_edge_types(), 3);
  EXPECT_THROW(Graph::from_edges(src.reshape({3, 1}), dst), ShapeError);
  EXPECT_THROW(Graph::from_edges(ones({3}), dst), TypeError);
}

TEST(Graph, AdoptsMovedVectorsWithoutCopying) {
  std::vector<std::int32_t> src{0, 1, 2};
  const std::int32_t* address = src.data();
  const Graph graph = Graph::from_edges(std::move(src), {1, 2, 0});
  EXPECT_EQ(graph.coo().src.data(), address);
}

TEST(Graph, CopiesVectorsGivenByReference) {
  std::vector<std::int32_t> src{0, 1, 2};
  const Graph graph = Graph::from_edges(src, src);
  src[0] = 7;
  EXPECT_THAT(graph.coo().src, ElementsAre(0, 1, 2));
}

TEST(Graph, CountsNodesAndTypesFromTheLargestIdUnlessTold) {
  const Graph graph = Graph::from_edges({0, 6}, {3, 1}, {.edge_types = {2, 0}});
  EXPECT_EQ(graph.num_nodes(), 7);
  EXPECT_EQ(graph.num_edge_types(), 3);
  EXPECT_EQ(Graph::from_edges({0}, {0}, {.edge_types = {2}, .num_edge_types = 9}).num_edge_types(), 9);
  EXPECT_EQ(Graph::from_edges({}, {}).num_nodes(), 0);
  const Graph two_sets = Graph::bipartite({0, 6}, {3, 1});
  EXPECT_EQ(two_sets.num_src(), 7);
  EXPECT_EQ(two_sets.num_dst(), 4);
}

TEST(Graph, OfTwoSetsRefusesToSayHowManyNodesItHas) {
  const Graph graph = Graph::bipartite({6, 0}, {2, 0}, {.num_src = 7, .num_dst = 3});
  EXPECT_TRUE(graph.is_bipartite());
  EXPECT_THAT(graph_error([&] { graph.num_nodes(); }), HasSubstr("num_src() (7)"));
}

TEST(Graph, NamesTheEdgeAndTheIdOutOfRange) {
  EXPECT_THAT(graph_error([] {
                Graph::from_edges({0, 1, 9}, {0, 0, 0}, {.num_nodes = 5});
              }),
              HasSubstr("[Graph::from_edges] edge 2 has source 9, but there are 5 nodes, ids 0 to 4"));
  EXPECT_THAT(graph_error([] {
                Graph::from_edges({0, 1, 2}, {0, -3, 0}, {.num_nodes = 5});
              }),
              HasSubstr("edge 1 has destination -3"));
  EXPECT_THAT(graph_error([] { Graph::from_edges({0}, {-1}); }), HasSubstr("ids go from 0 to 2147483646"));
  EXPECT_THAT(graph_error([] { Graph::from_edges({0}, {0}, {.num_nodes = 0}); }), HasSubstr("there are no nodes"));
  EXPECT_THAT(graph_error([] { Graph::bipartite({3}, {3}, {.num_src = 4, .num_dst = 3}); }),
              HasSubstr("destination 3, but there are 3 destination nodes"));
  EXPECT_THAT(graph_error([] { Graph::from_edges({0}, {0}, {.edge_types = {4}, .num_edge_types = 4}); }),
              HasSubstr("edge 0 has type 4, but there are 4 edge types"));
  EXPECT_THAT(graph_error([] { Graph::from_edges({0}, {0}, {.edge_types = {-1}}); }), HasSubstr("type -1"));
}

TEST(Graph, FindsTheFirstBadIdFarIntoALongList) {
  std::vector<std::int32_t> src(1'000'000, 1), dst(1'000'000, 0);
  src[700'001] = 2;
  src[900'000] = -5;
  EXPECT_THAT(graph_error([&] { Graph::from_edges(src, dst, {.num_nodes = 2}); }),
              HasSubstr("edge 700001 has source 2"));
}

TEST(Graph, NamesBothSizesThatDisagree) {
  EXPECT_THAT(graph_error([] { Graph::from_edges({0, 1}, {0}); }), HasSubstr("2 sources and 1 destinations"));
  EXPECT_THAT(graph_error([] {
                Graph::from_edges({0, 1}, {0, 1}, {.edge_types = {0}});
              }),
              HasSubstr("each of the 2 edges, but has 1"));
  EXPECT_THAT(graph_error([] { Graph::from_edges({0}, {0}, {.num_edge_types = 3}); }), HasSubstr("3 edge types"));
  EXPECT_EQ(Graph::from_edges({}, {}, {.num_nodes = 1, .num_edge_types = 3}).num_edge_types(), 3);
}

TEST(Graph, RefusesNegativeAndHugeCounts) {
  EXPECT_THAT(graph_error([] { Graph::from_edges({}, {}, {.num_nodes = -1}); }), HasSubstr("negative, it is -1"));
  EXPECT_THAT(graph_error([] { Graph::from_edges({}, {}, {.num_nodes = 3'000'000'000}); }),
              HasSubstr("is 3000000000, but ids have 32 bits"));
  EXPECT_THAT(graph_error([] { Graph::bipartite({}, {}, {.num_src = 1, .num_dst = -2}); }), HasSubstr("-2"));
  EXPECT_THAT(graph_error([] { Graph::from_edges({}, {}, {.num_edge_types = -2}); }), HasSubstr("-2"));
  EXPECT_THAT(graph_error([] { Graph::from_edges({0}, {std::numeric_limits<std::int32_t>::max()}); }),
              HasSubstr("edge 0 has destination 2147483647"));
}

TEST(Graph, RefusesIdsBeyondThirtyTwoBits) {
  const std::vector<std::int64_t> wide{1, 4294967297};
  EXPECT_THAT(graph_error([&] { Graph::from_edges(wide, wide); }), HasSubstr("id 4294967297 at position 1"));
}

TEST(Graph, ReversesWithoutBuildingAnythingAgain) {
  const Graph graph = Graph::bipartite({4, 0, 2}, {1, 0, 1}, {.num_src = 5, .num_dst = 2});
  const Graph back = graph.reverse();
  EXPECT_EQ(back.num_src(), 2);
  EXPECT_EQ(back.num_dst(), 5);
  EXPECT_THAT(back.coo().src, ElementsAre(1, 0, 1));
  EXPECT_EQ(back.csr().indices.data(), graph.csc().indices.data());
  EXPECT_EQ(back.csc().indices.data(), graph.csr().indices.data());
  EXPECT_TRUE(back.reverse().same_as(graph));
  EXPECT_FALSE(back.same_as(graph));
}

TEST(Graph, CountsDegreesAtBothEnds) {
  const Graph graph = Graph::from_edges({0, 0, 2, 2, 2}, {1, 1, 1, 2, 0}, {.num_nodes = 4});
  EXPECT_THAT(graph.in_degrees(), ElementsAre(1, 3, 1, 0));
  EXPECT_THAT(graph.out_degrees(), ElementsAre(2, 0, 3, 0));
}

TEST(Graph, CountsTheBytesItHolds) {
  const Graph sorted = Graph::from_edges({0, 1, 2}, {0, 1, 2}, {.num_nodes = 3, .edge_types = {0, 0, 0}});
  EXPECT_EQ(sorted.memory_bytes(), 3 * 12);
  sorted.csc(EdgeIds::implied);
  EXPECT_EQ(sorted.memory_bytes(), 3 * 12 + 4 * 8);
  sorted.csc();
  EXPECT_EQ(sorted.memory_bytes(), 3 * 16 + 4 * 8);
  const Graph unsorted = Graph::from_edges({0, 1}, {1, 0});
  unsorted.csc();
  EXPECT_EQ(unsorted.memory_bytes(), 2 * 16 + 3 * 8);
}

struct Plan {
  int value;
};

TEST(Graph, MakesDerivedValuesOnceForAllHandles) {
  const Graph graph = Graph::from_edges({0}, {0});
  const Graph copy = graph;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested
  int made = 0;
  const auto make = [&] { return Plan{++made}; };
  EXPECT_EQ(graph.cached<Plan>(make)->value, 1);
  EXPECT_EQ(copy.cached<Plan>(make)->value, 1);
  EXPECT_EQ(copy.cached<Plan>(make, 7)->value, 2);
  EXPECT_EQ(graph.reverse().cached<Plan>(make)->value, 3);
  EXPECT_EQ(graph.reverse().cached<Plan>(make)->value, 3);
  EXPECT_EQ(*graph.cached<int>([&] { return graph.cached<Plan>(make)->value + 10; }), 11);
}

TEST(Graph, TriesAgainAfterADerivedValueCouldNotBeMade) {
  const Graph graph = Graph::from_edges({0}, {0});
  EXPECT_THROW(graph.cached<Plan>([]() -> Plan { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(graph.cached<Plan>([] { return Plan{4}; })->value, 4);
}

TEST(Graph, MakesADerivedValueOnceWhenManyThreadsAsk) {
  const Graph graph = Graph::from_edges({0}, {0});
  std::atomic<int> made = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(graph.cached<Plan>([&] { return Plan{++made}; })->value, 1); });
  }
  threads.clear();
  EXPECT_EQ(made, 1);
}

TEST(Graph, PrintsItsSizesAndFirstEdges) {
  EXPECT_EQ(to_string(Graph()), "graph(nodes=0, edges=0)");
  const Graph graph = Graph::from_edges({0, 0, 3}, {1, 2, 3}, {.num_nodes = 5, .edge_types = {0, 1, 1}});
  std::ostringstream stream;
  stream << graph;
  EXPECT_EQ(stream.str(), "graph(nodes=5, edges=3, edge_types=2, 0->1, 0->2, 3->3)");
  EXPECT_EQ(to_string(Graph::bipartite({6}, {0}, {.num_src = 7, .num_dst = 3})),
            "graph(sources=7, destinations=3, edges=1, 6->0)");
  const std::vector<std::int32_t> many(9, 0);
  EXPECT_EQ(to_string(Graph::from_edges(many, many)),
            "graph(nodes=1, edges=9, 0->0, 0->0, 0->0, 0->0, 0->0, 0->0, 0->0, 0->0, ...)");
}

}  // namespace
}  // namespace bough
