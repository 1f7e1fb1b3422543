#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "bough/graph/batch.h"
#include "bough/graph/io.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/graph_compare.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/random_tensor.h"

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

TEST(TensorFiles, BringBackTensorsOfEveryTypeAndShape) {
  const test::TemporaryFolder folder;
  const NamedTensors tensors{{"float32", test::random_tensor({3, 4}, DType::float32, 1)},
                             {"float64", test::random_tensor({2, 0, 3}, DType::float64, 2)},
                             {"int32", arange(5, DType::int32)},
                             {"int64", arange(6, DType::int64).reshape({3, 2})},
                             {"mask", Tensor::from_vector<bool>({true, false, true}, {3, 1})},
                             {"a scalar / of any name", Tensor::from_vector<float>({2.5f}, {})}};
  save_npz(folder.file("t.npz"), tensors);
  const NamedTensors loaded = load_npz(folder.file("t.npz"));
  ASSERT_EQ(loaded.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    SCOPED_TRACE(name);
    test::expect_same_bits(loaded.at(name), tensor);
  }
  save_npz(folder.file("none.npz"), NamedTensors{});
  EXPECT_TRUE(load_npz(folder.file("none.npz")).empty());
}

TEST(TensorFiles, HoldMoreArraysThanAnOldZipDirectoryCounts) {
  const test::TemporaryFolder folder;
  NamedTensors tensors;
  for (int i = 0; i < 65'536; ++i) tensors.emplace(std::to_string(i), Tensor::from_vector<std::int32_t>({i}, {}));
  save_npz(folder.file("many.npz"), tensors);
  const NamedTensors loaded = load_npz(folder.file("many.npz"));
  ASSERT_EQ(loaded.size(), tensors.size());
  EXPECT_EQ(loaded.at("65535").item<int>(), 65'535);
}

TEST(TensorFiles, StandBesideAGraph) {
  const test::TemporaryFolder folder;
  const Graph graph = zoo::random_graph(6, 20, 1, 3);
  const Tensor x = test::random_tensor({6, 4}, DType::float32, 1), labels = arange(6, DType::int64);
  save_npz(folder.file("g.npz"), graph, {{"features", x}, {"labels", labels}, {"dist", x}});
  expect_same_graph(load_graph(folder.file("g.npz")), graph);
  const auto [loaded, tensors] = load_graph_with_tensors(folder.file("g.npz"));
  expect_same_graph(loaded, graph);
  ASSERT_EQ(tensors.size(), 3u);
  test::expect_same_bits(tensors.at("features"), x);
  test::expect_same_bits(tensors.at("labels"), labels);
  EXPECT_EQ(load_npz(folder.file("g.npz")).at("src").size(0), 20);
  for (const char* file : {"g.bough", "g.txt"}) {
    save_graph(folder.file(file), graph);
    const GraphWithTensors alone = load_graph_with_tensors(folder.file(file));
    expect_same_graph(alone.graph, graph);
    EXPECT_TRUE(alone.tensors.empty());
  }
}

TEST(TensorFiles, AreNotWrittenUnlessEveryTensorFits) {
  const test::TemporaryFolder folder;
  const Tensor x = ones({2});
  const auto error = [&](const NamedTensors& tensors) {
    return error_message<IoError>([&] { save_npz(folder.file("t.npz"), tensors); });
  };
  EXPECT_THAT(error({{"x", x}, {"y", {}}}), HasSubstr("'y' is undefined"));
  EXPECT_THAT(error({{"", x}}), HasSubstr("1 to 1000 bytes, not 0"));
  EXPECT_THAT(error({{std::string(1001, 'x'), x}}), HasSubstr("not 1001"));
  EXPECT_THAT(error_message<TypeError>([&] {
                save_npz(folder.file("t.npz"), {{"half", Tensor::empty({2}, DType::bfloat16)}});
              }),
              HasSubstr("'half' is bfloat16"));
  const auto beside_graph = [&](const char* name) {
    return error_message<IoError>([&] { save_npz(folder.file("g.npz"), zoo::chain(3), {{name, x}}); });
  };
  EXPECT_THAT(beside_graph("src"), HasSubstr("'src' is the name of an array of the graph"));
  EXPECT_THAT(beside_graph("format"), HasSubstr("'format' is the name"));
  EXPECT_THAT(beside_graph("edge_type"), HasSubstr("'edge_type' would be taken for the array 'edge_types'"));
  EXPECT_EQ(folder.num_files(), 0);
}

}  // namespace
}  // namespace bough
