#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/graph/graph.h"
#include "tests/support/errors.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using test::graph_error;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Queries, FindAllEdgesBetweenTwoNodes) {
  for (const auto& [name, graph] : zoo::all(20)) {
    SCOPED_TRACE(name);
    for (std::int32_t src = 0; src < std::min<std::int64_t>(graph.num_src(), 30); ++src) {
      for (std::int32_t dst = 0; dst < std::min<std::int64_t>(graph.num_dst(), 30); ++dst) {
        std::vector<std::int32_t> expected;
        for (std::int32_t edge = 0; edge < graph.num_edges(); ++edge) {
          if (graph.coo().src[edge] == src && graph.coo().dst[edge] == dst) expected.push_back(edge);
        }
        ASSERT_THAT(graph.edges_between(src, dst), ElementsAreArray(expected));
        ASSERT_EQ(graph.has_edge(src, dst), !expected.empty());
        ASSERT_EQ(graph.reverse().has_edge(dst, src), !expected.empty());
      }
    }
  }
}

TEST(Queries, GiveTheEdgesOfNodesInTheOrderAskedFor) {
  const Graph graph = Graph::from_edges({3, 0, 1, 0, 3}, {1, 1, 2, 3, 1}, {.num_nodes = 4});
  const EdgeSelection in = graph.in_edges({2, 1, 0, 2});
  EXPECT_THAT(in.offsets, ElementsAre(0, 1, 4, 4, 5));
  EXPECT_THAT(in.edge_ids, ElementsAre(2, 1, 0, 4, 2));
  EXPECT_THAT(in.src, ElementsAre(1, 0, 3, 3, 1));
  EXPECT_THAT(in.dst, ElementsAre(2, 1, 1, 1, 2));
  const EdgeSelection out = graph.out_edges({0, 3});
  EXPECT_THAT(out.offsets, ElementsAre(0, 2, 4));
  EXPECT_THAT(out.edge_ids, ElementsAre(1, 3, 0, 4));
  EXPECT_THAT(out.src, ElementsAre(0, 0, 3, 3));
  EXPECT_THAT(out.dst, ElementsAre(1, 3, 1, 1));
}

TEST(Queries, GiveAllEdgesOfLargeSelections) {
  const Graph graph = zoo::random_graph(3'000, 200'000, 5);
  std::vector<std::int32_t> nodes;
  for (std::int32_t node = 2'999; node >= 0; node -= 2) nodes.push_back(node);
  const EdgeSelection in = graph.in_edges(nodes);
  std::int64_t expected = 0;
  for (const std::int32_t dst : graph.coo().dst) expected += dst % 2;
  ASSERT_EQ(in.offsets.back(), expected);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::int64_t at = in.offsets[i]; at < in.offsets[i + 1]; ++at) {
      ASSERT_EQ(in.dst[at], nodes[i]);
      ASSERT_EQ(graph.coo().dst[in.edge_ids[at]], nodes[i]);
      ASSERT_EQ(graph.coo().src[in.edge_ids[at]], in.src[at]);
    }
  }
}

TEST(Queries, OfNoNodesGiveNoEdges) {
  const EdgeSelection in = Graph().in_edges({});
  EXPECT_THAT(in.offsets, ElementsAre(0));
  EXPECT_THAT(in.edge_ids, IsEmpty());
}

TEST(Queries, NameANodeThatIsNotThere) {
  const Graph graph = Graph::bipartite({0}, {0}, {.num_src = 3, .num_dst = 1});
  EXPECT_THAT(graph_error([&] { graph.in_edges({0, 1}); }), HasSubstr("entry 1 is node 1, but there are 1"));
  EXPECT_THAT(graph_error([&] { graph.out_edges({-1}); }), HasSubstr("node -1"));
  EXPECT_THAT(graph_error([&] { graph.has_edge(0, 1); }), HasSubstr("0 to 1"));
  EXPECT_THAT(graph_error([&] { graph.edges_between(-1, 0); }), HasSubstr("-1 to 0"));
}

}  // namespace
}  // namespace bough
