#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "bough/graph/batch.h"
#include "bough/graph/io.h"
#include "tests/support/files.h"
#include "tests/support/graph_compare.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/python.h"

namespace bough {
namespace {

using testing::ElementsAre;

class NumpyExchange : public testing::Test {
 protected:
  void SetUp() override {
    python_ = test::python_with("numpy");
    if (!python_) GTEST_SKIP() << "python3 has no numpy here; tools/setup --tests installs it";
  }

  /// Runs a script in the test's folder; true if it ends well.
  bool run(const std::string& script) { return test::run_python(*python_, folder_, "import numpy as np\n" + script); }

  test::TemporaryFolder folder_;
  std::optional<std::string> python_;
};

TEST_F(NumpyExchange, ReadsWhatSavezWrites) {
  for (const std::string save : {"np.savez", "np.savez_compressed"}) {
    for (const std::string type : {"int32", "int64", "uint8"}) {
      SCOPED_TRACE(save + " " + type);
      ASSERT_TRUE(
          run("a = lambda *v: np.array(v, dtype='" + type + "')\n" + save +
              "('g.npz', src=a(0, 3, 1), dst=a(1, 2, 1), edge_types=a(4, 0, 1), num_nodes=6, other=np.ones((2, 2)))"));
      const Graph graph = load_graph(folder_.file("g.npz"));
      EXPECT_EQ(graph.num_nodes(), 6);
      EXPECT_EQ(graph.num_edge_types(), 5);
      EXPECT_THAT(graph.coo().src, ElementsAre(0, 3, 1));
      EXPECT_THAT(graph.coo().dst, ElementsAre(1, 2, 1));
      EXPECT_THAT(graph.edge_types(), ElementsAre(4, 0, 1));
    }
  }
}

TEST_F(NumpyExchange, ReadsBipartiteAndLargeAndEmptyGraphs) {
  ASSERT_TRUE(
      run("e = np.arange(300000)\n"
          "np.savez_compressed('large.npz', src=e % 1000, dst=e % 77, num_src=1000, num_dst=np.int32(80))\n"
          "np.savez('empty.npz', src=np.zeros(0, 'int32'), dst=np.zeros(0, 'int64'), num_nodes=[3])\n"));
  const Graph large = load_graph(folder_.file("large.npz"));
  EXPECT_TRUE(large.is_bipartite());
  EXPECT_EQ(large.num_dst(), 80);
  ASSERT_EQ(large.num_edges(), 300'000);
  for (int edge = 0; edge < 300'000; ++edge) ASSERT_EQ(large.coo().dst[edge], edge % 77);
  EXPECT_EQ(load_graph(folder_.file("empty.npz")).num_nodes(), 3);
}

TEST_F(NumpyExchange, ReadsMatricesWithEitherKindOfText) {
  for (const std::string format : {"'csr'", "b'csr'"}) {
    ASSERT_TRUE(
        run("np.savez('m.npz', format=np.array(" + format +
            "), shape=[2, 2], data=[1., 2.], indptr=np.array([0, 1, 2], 'int32'), indices=np.array([1, 0], 'int32'))"));
    EXPECT_THAT(load_graph(folder_.file("m.npz")).coo().dst, ElementsAre(1, 0));
  }
}

TEST_F(NumpyExchange, WritesWhatLoadReads) {
  save_graph(folder_.file("g.npz"), Graph::from_edges({0, 3, 1}, {1, 2, 1}, {.num_nodes = 6, .edge_types = {4, 0, 1}}));
  save_graph(folder_.file("b.npz"), batch({zoo::random_bipartite(3, 4, 5, 1), zoo::random_bipartite(2, 1, 3, 2)}));
  save_graph(folder_.file("e.npz"), Graph());
  EXPECT_TRUE(
      run("g = np.load('g.npz')\n"
          "assert sorted(g) == ['dst', 'edge_types', 'num_edge_types', 'num_nodes', 'src'], sorted(g)\n"
          "assert g['src'].dtype == np.int32 and g['src'].tolist() == [0, 3, 1]\n"
          "assert g['dst'].tolist() == [1, 2, 1] and g['edge_types'].tolist() == [4, 0, 1]\n"
          "assert g['num_nodes'].shape == () and int(g['num_nodes']) == 6\n"
          "b = np.load('b.npz')\n"
          "assert b['src_offsets'].tolist() == [0, 3, 5] and b['dst_offsets'].tolist() == [0, 4, 5]\n"
          "assert int(b['num_src']) == 5 and b['edge_offsets'].tolist() == [0, 5, 8]\n"
          "assert np.load('e.npz')['src'].shape == (0,)\n"
          "import zipfile; assert zipfile.ZipFile('g.npz').testzip() is None\n"));
}

TEST_F(NumpyExchange, BringsBackWhatPythonSavesAgain) {
  const Graph graph = zoo::random_graph(50, 400, 9, 6);
  save_graph(folder_.file("there.npz"), graph);
  ASSERT_TRUE(run("np.savez_compressed('back.npz', **np.load('there.npz'))"));
  test::expect_same_graph(load_graph(folder_.file("back.npz")), graph);
}

}  // namespace
}  // namespace bough
