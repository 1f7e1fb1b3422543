#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/io.h"
#include "tests/graph/generators/edge_list.h"

namespace bough {
namespace {

using nlohmann::json;
using test::NamedEdge;
using testing::HasSubstr;

class FileGenerator : public testing::Test {
 protected:
  FileGenerator() { std::filesystem::create_directories(folder_); }
  ~FileGenerator() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string written(const std::string& text) const {
    std::ofstream(path("edges.txt")) << text;
    return path("edges.txt");
  }
  static std::string error_of(const json& specification, std::int64_t length, bool causal = false) {
    try {
      test::build(specification, length, causal);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("bough_file_generator_" + std::to_string(getpid()));
};

TEST_F(FileGenerator, ACausalGraphWithSpansCanBeSavedAndUsedAgain) {
  const json bpt = {{"kind", "bpt"}, {"k", 2}};
  const AttentionGraph tree = test::build(bpt, 21, true);
  save_graph(path("tree.npz"), tree.graph);
  const AttentionGraph again = test::build({{"kind", "file"}, {"path", path("tree.npz")}, {"tokens", 21}}, 21, true);
  EXPECT_EQ(test::rows_of(again.graph), test::rows_of(tree.graph));
  test::expect_causal(again);
  EXPECT_EQ(again.kinds.back(), NodeKind::span);
}

TEST_F(FileGenerator, ALeakThroughOtherNodesIsFound) {
  // Token 2 reaches token 0 through nodes 3 and 4.
  const std::string leak = written("2 3\n3 4\n4 0\n0 0\n1 1\n2 2\n");
  EXPECT_THAT(error_of({{"kind", "file"}, {"path", leak}, {"tokens", 3}}, 3, true), HasSubstr("cannot attend to"));
}

TEST_F(FileGenerator, ReadsAnEdgeListInAnyOrder) {
  const json specification = {
      {"kind", "file"}, {"path", written("2 1 1\n0 1 0\n3 3 2\n0 3 0\n")}, {"tokens", 3}, {"root", 3}};
  const AttentionGraph graph = test::build(specification, 3, false);
  EXPECT_EQ(test::named_edges(graph),
            (std::vector<NamedEdge>{
                {0, 1, "relation(0)"}, {2, 1, "relation(1)"}, {0, 3, "relation(0)"}, {3, 3, "relation(2)"}}));
  EXPECT_EQ(graph.kinds[3], NodeKind::global);
  EXPECT_EQ(graph.root, 3);
}

TEST_F(FileGenerator, GivesEdgesWithoutTypesOneRelation) {
  const AttentionGraph graph = test::build({{"kind", "file"}, {"path", written("0 1\n1 1\n")}}, 2, true);
  EXPECT_EQ(graph.relations, std::vector<std::string>{"relation(0)"});
  EXPECT_EQ(graph.graph.num_edges(), 2);
}

TEST_F(FileGenerator, RoundTripsEveryFormat) {
  const AttentionGraph original = test::build({{"kind", "bpt"}, {"k", 2}}, 30, false);
  for (const char* name : {"graph.npz", "graph.bough", "graph.txt"}) {
    save_graph(path(name), original.graph);
    const AttentionGraph read = test::build({{"kind", "file"}, {"path", path(name)}, {"tokens", 30}}, 30, false);
    EXPECT_TRUE(std::ranges::equal(read.graph.coo().src, original.graph.coo().src));
    EXPECT_TRUE(std::ranges::equal(read.graph.coo().dst, original.graph.coo().dst));
    EXPECT_TRUE(std::ranges::equal(read.graph.edge_types(), original.graph.edge_types()));
  }
}

TEST_F(FileGenerator, HasOneLengthThatNeedNotBeGiven) {
  const json specification = {{"kind", "file"}, {"path", written("0 1\n2 1\n")}};
  EXPECT_EQ(read_graph_request(specification).options.length, 3);
  EXPECT_THAT(error_of(specification, 4), HasSubstr("is for 3 tokens, not for 4"));
  const GraphRequest both = read_graph_request({{"kind", "union"}, {"of", {"bpt", specification}}});
  EXPECT_EQ(both.options.length, 3);
  EXPECT_NO_THROW(both.build());
}

TEST_F(FileGenerator, IsCausalOrMadeSo) {
  const json specification = {{"kind", "file"}, {"path", written("0 1\n2 1\n0 0\n")}};
  EXPECT_THAT(error_of(specification, 3, true), HasSubstr("in a causal graph node 1"));
  EXPECT_EQ(test::build({{"kind", "causal"}, {"of", specification}}, 3, true).graph.num_edges(), 2);
}

TEST_F(FileGenerator, RefusesWhatDoesNotFit) {
  const std::string edges = written("0 1\n2 1\n");
  EXPECT_THAT(error_of({{"kind", "file"}, {"path", path("missing.npz")}}, 3), HasSubstr("missing.npz"));
  EXPECT_THAT(error_of({{"kind", "file"}}, 3), HasSubstr("path is missing"));
  EXPECT_THAT(error_of({{"kind", "file"}, {"path", edges}, {"tokens", 4}}, 4), HasSubstr("has 3 nodes"));
  EXPECT_THAT(error_of({{"kind", "file"}, {"path", edges}, {"root", 3}}, 3), HasSubstr("root must be below 3"));
  EXPECT_THAT(error_of({{"kind", "file"}, {"path", written("0 1\n0 1\n")}}, 2), HasSubstr("given twice"));
  save_graph(path("bipartite.npz"), Graph::bipartite({0}, {0}, {}));
  EXPECT_THAT(error_of({{"kind", "file"}, {"path", path("bipartite.npz")}}, 1), HasSubstr("is bipartite"));
  save_graph(path("empty.npz"), Graph());
  EXPECT_THAT(error_of({{"kind", "file"}, {"path", path("empty.npz")}}, 1), HasSubstr("has 0 nodes"));
}

}  // namespace
}  // namespace bough
