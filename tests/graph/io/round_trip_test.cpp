#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "bough/graph/batch.h"
#include "bough/graph/io.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/graph_compare.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using test::error_message;
using test::expect_same_graph;
using testing::HasSubstr;

TEST(GraphFiles, BringBackEveryGraphOfTheZooInEveryKind) {
  const test::TemporaryFolder folder;
  for (const auto& [name, graph] : zoo::all()) {
    for (const char* file : {"g.bough", "g.npz", "g.txt"}) {
      SCOPED_TRACE(name + " in " + file);
      save_graph(folder.file(file), graph);
      expect_same_graph(load_graph(folder.file(file)), graph);
      save_graph(folder.file(file), graph.reverse());
      expect_same_graph(load_graph(folder.file(file)), graph.reverse());
    }
  }
}

TEST(GraphFiles, BringBackBatches) {
  const test::TemporaryFolder folder;
  const Graph one_set = batch({zoo::chain(3), zoo::random_graph(5, 9, 1), Graph()});
  const Graph two_sets = batch({zoo::random_bipartite(3, 4, 5, 1), zoo::random_bipartite(2, 1, 3, 2)});
  for (const Graph& graph : {one_set, two_sets, batch({})}) {
    for (const char* file : {"g.bough", "g.npz"}) {
      save_graph(folder.file(file), graph);
      expect_same_graph(load_graph(folder.file(file)), graph);
    }
  }
}

TEST(GraphFiles, BringBackLargeGraphs) {
  const test::TemporaryFolder folder;
  const Graph graph = zoo::random_graph(5'000, 300'000, 3, 1'000);
  for (const char* file : {"g.bough", "g.npz", "g.txt"}) {
    save_graph(folder.file(file), graph);
    const Graph loaded = load_graph(folder.file(file));
    EXPECT_TRUE(std::ranges::equal(loaded.coo().src, graph.coo().src));
    EXPECT_TRUE(std::ranges::equal(loaded.coo().dst, graph.coo().dst));
    EXPECT_TRUE(std::ranges::equal(loaded.edge_types(), graph.edge_types()));
  }
}

TEST(GraphFiles, AreTheSameBytesEachTime) {
  const test::TemporaryFolder folder;
  const Graph graph = zoo::random_graph(20, 50, 3, 4);
  for (const std::string ending : {".bough", ".npz", ".txt"}) {
    save_graph(folder.file("a" + ending), graph);
    save_graph(folder.file("b" + ending), graph);
    EXPECT_EQ(test::file_content(folder.file("a" + ending)), test::file_content(folder.file("b" + ending)));
  }
}

TEST(GraphFiles, LeaveNothingElseInTheFolder) {
  const test::TemporaryFolder folder;
  save_graph(folder.file("g.bough"), zoo::chain(3));
  save_graph(folder.file("g.bough"), zoo::chain(4));
  EXPECT_EQ(folder.num_files(), 1);
  EXPECT_EQ(load_graph(folder.file("g.bough")).num_nodes(), 4);
}

TEST(GraphFiles, SayWhichEndingsThereAre) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(error_message<IoError>([&] { save_graph(folder.file("g.zip"), Graph()); }), HasSubstr(".npz (NumPy)"));
  EXPECT_THAT(error_message<IoError>([&] { save_graph(folder.file("g"), Graph()); }), HasSubstr(".bough"));
}

TEST(GraphFiles, ThatCannotBeOpenedAreNamed) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(error_message<IoError>([&] { load_graph(folder.file("none.npz")); }),
              HasSubstr("none.npz' cannot be read"));
  EXPECT_THAT(error_message<IoError>([&] { load_graph(folder.file("")); }), HasSubstr("not a regular file"));
  EXPECT_THAT(error_message<IoError>([&] { save_graph(folder.file("no/such/folder/g.npz"), Graph()); }),
              HasSubstr("no/such/folder/g.npz"));
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_message<IoError>([&] { load_graph(folder.file("pipe")); }), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace bough
