#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/graph/io.h"
#include "graph/io/input_file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using test::error_message;
using testing::ElementsAre;
using testing::HasSubstr;

class EdgeListFiles : public testing::Test {
 protected:
  Graph load(std::string_view text) { return load_graph(InputFile("edges.txt", std::string(text))); }
  std::string error(std::string_view text) {
    return error_message<IoError>([&] { load(text); });
  }

  test::TemporaryFolder folder_;
};

TEST_F(EdgeListFiles, MayHaveCommentsEmptyLinesAndAnySeparator) {
  const Graph graph = load("# from somewhere\n\n0 3\n  1\t2  \n% more\n2,0\r\n4, 4");
  EXPECT_EQ(graph.num_nodes(), 5);
  EXPECT_THAT(graph.coo().src, ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(graph.coo().dst, ElementsAre(3, 2, 0, 4));
  EXPECT_EQ(graph.num_edge_types(), 0);
}

TEST_F(EdgeListFiles, MayHaveAThirdColumnForTypes) {
  const Graph graph = load("0 1 7\n1 0 2\n");
  EXPECT_THAT(graph.edge_types(), ElementsAre(7, 2));
  EXPECT_EQ(graph.num_edge_types(), 8);
}

TEST_F(EdgeListFiles, MayGiveCountsInTheirFirstLine) {
  const Graph graph = load("# bough edge list num_nodes=9 num_edge_types=4\n0 1 2\n");
  EXPECT_EQ(graph.num_nodes(), 9);
  EXPECT_EQ(graph.num_edge_types(), 4);
  const Graph two_sets = load("# bough edge list num_src=2 num_dst=5\n1 3\n");
  EXPECT_TRUE(two_sets.is_bipartite());
  EXPECT_EQ(two_sets.num_dst(), 5);
  EXPECT_EQ(load("# bough edge list num_nodes=3\n").num_nodes(), 3);
}

TEST_F(EdgeListFiles, LookLikeThis) {
  const Graph graph = Graph::from_edges({0, 2}, {1, 1}, {.num_nodes = 4, .edge_types = {1, 0}});
  save_graph(folder_.file("saved.txt"), graph);
  EXPECT_EQ(test::file_content(folder_.file("saved.txt")),
            "# bough edge list num_nodes=4 num_edges=2 num_edge_types=2\n0 1 1\n2 1 0\n");
}

TEST_F(EdgeListFiles, NameTheLineThatIsNoEdge) {
  EXPECT_THAT(error("0 1\n\n2 x\n"), HasSubstr("line 3: 'x' is no id"));
  EXPECT_THAT(error("0 1\n-2 1\n"), HasSubstr("line 2: '-2' is no id"));
  EXPECT_THAT(error("0 1.5\n"), HasSubstr("'1.5' is no id"));
  EXPECT_THAT(error("0 99999999999999999999\n"), HasSubstr("'99999999999999999999' is no id"));
  EXPECT_THAT(error("0 2147483647\n"), HasSubstr("is no id"));
  EXPECT_THAT(error("0\n"), HasSubstr("line 1: has a source but no destination"));
  EXPECT_THAT(error("0 1 2 3\n"), HasSubstr("more than three columns"));
  EXPECT_THAT(error("0 1\n0 1 2\n"), HasSubstr("line 2: has 3 columns, but the first edge has 2"));
  EXPECT_THAT(error(std::string_view("0 1\n\0 2\n", 8)), HasSubstr("line 2: '?' is no id"));
}

TEST_F(EdgeListFiles, RefuseHeadersThatMakeNoSense) {
  EXPECT_THAT(error("# bough edge list nodes=3\n0 1\n"), HasSubstr("'nodes=3' has no place"));
  EXPECT_THAT(error("# bough edge list num_nodes=x\n0 1\n"), HasSubstr("'num_nodes=x'"));
  EXPECT_THAT(error("# bough edge list num_nodes=3 num_nodes=3\n0 1\n"), HasSubstr("each once"));
  EXPECT_THAT(error("# bough edge list num_src=3\n0 1\n"), HasSubstr("num_src and num_dst"));
  EXPECT_THAT(error("0 1\n# bough edge list num_nodes=3\n"), HasSubstr("line 2: a header must be the first line"));
  EXPECT_THAT(error("# bough edge list num_edges=3\n0 1\n"), HasSubstr("has 1 edges, but its header announces 3"));
  EXPECT_THAT(error("# bough edge list num_nodes=1\n0 1\n"), HasSubstr("edge 0 has destination 1"));
  EXPECT_THAT(error("# bough edge list num_nodes=1999999999\n0 1\n"), HasSubstr("are accepted"));
  EXPECT_THAT(error("0 1999999999\n"), HasSubstr("2000000000 nodes"));
}

TEST_F(EdgeListFiles, RefuseWhatIsNoEdgeListAtAll) {
  EXPECT_THAT(error(""), HasSubstr("holds no edges"));
  EXPECT_THAT(error("# only a comment\n"), HasSubstr("holds no edges"));
  EXPECT_THAT(error(std::string(5'000'000, '7')), HasSubstr("too long"));
  EXPECT_THAT(error(std::string(1'000, '\xff')), HasSubstr("is no id"));
}

TEST_F(EdgeListFiles, MayBeLongerThanOneBlock) {
  std::string text;
  for (int edge = 0; edge < 400'000; ++edge)
    text += std::to_string(edge % 1000) + " " + std::to_string(edge % 77) + "\n";
  const Graph graph = load(text);
  ASSERT_EQ(graph.num_edges(), 400'000);
  for (int edge = 0; edge < 400'000; ++edge) {
    ASSERT_EQ(graph.coo().src[edge], edge % 1000);
    ASSERT_EQ(graph.coo().dst[edge], edge % 77);
  }
}

}  // namespace
}  // namespace bough
