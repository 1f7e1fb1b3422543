#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "bough/graph/batch.h"
#include "bough/graph/io.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/graph_compare.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/python.h"

namespace bough {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

TEST_F(NumpyExchange, ReadsFeaturesAndLabelsBesideAGraph) {
  for (const std::string save : {"np.savez", "np.savez_compressed"}) {
    SCOPED_TRACE(save);
    ASSERT_TRUE(
        run(save +
            "('g.npz', src=[0, 1], dst=[1, 2], x=np.arange(6, dtype='float32').reshape(3, 2) / 2,"
            " labels=np.array([2, 0, 1], 'uint8'), train=np.array([True, False, True]), scale=np.float64(0.1))"));
    const auto [graph, tensors] = load_graph_with_tensors(folder_.file("g.npz"));
    EXPECT_EQ(graph.num_edges(), 2);
    ASSERT_EQ(tensors.size(), 4u);
    EXPECT_EQ(tensors.at("x").shape(), (Shape{3, 2}));
    EXPECT_THAT(tensors.at("x").to_vector<float>(), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5));
    EXPECT_THAT(tensors.at("labels").to_vector<int>(), ElementsAre(2, 0, 1));
    EXPECT_EQ(tensors.at("train").dtype(), DType::boolean);
    EXPECT_EQ(tensors.at("scale").item<double>(), 0.1);
  }
}

TEST_F(NumpyExchange, WritesTensorsThatLoadReads) {
  save_npz(folder_.file("g.npz"), Graph::from_edges({0, 1}, {1, 2}),
           {{"x", Tensor::from_vector<float>({0, 0.5, 1, 1.5, 2, 2.5}, {3, 2})},
            {"labels", Tensor::from_vector<std::int64_t>({2, 0, 1}, {3})},
            {"train", Tensor::from_vector<bool>({true, false, true}, {3})},
            {"scale", Tensor::from_vector<double>({0.1}, {})},
            {"none", zeros({0, 4}, DType::int32)}});
  EXPECT_TRUE(
      run("g = np.load('g.npz')\n"
          "assert g['src'].tolist() == [0, 1] and g['dst'].tolist() == [1, 2]\n"
          "assert g['x'].dtype == np.float32 and (g['x'] == np.arange(6).reshape(3, 2) / 2).all()\n"
          "assert g['labels'].dtype == np.int64 and g['labels'].tolist() == [2, 0, 1]\n"
          "assert g['train'].dtype == bool and g['train'].tolist() == [True, False, True]\n"
          "assert g['scale'].shape == () and g['scale'] == 0.1\n"
          "assert g['none'].shape == (0, 4) and g['none'].dtype == np.int32\n"
          "np.savez('back.npz', **g)\n"));
  EXPECT_EQ(load_graph_with_tensors(folder_.file("back.npz")).tensors.at("x").shape(), (Shape{3, 2}));
}

TEST_F(NumpyExchange, SaysWhatToDoAboutArraysThatNoTensorHolds) {
  ASSERT_TRUE(
      run("x = np.ones((2, 3), 'float32')\n"
          "np.savez('fortran.npz', x=np.asfortranarray(x))\n"
          "np.savez('big.npz', x=x.astype('>f4'))\n"
          "np.savez('half.npz', x=x.astype('float16'))\n"
          "np.savez('text.npz', x=np.array(['a', 'b']))\n"
          "np.savez('fields.npz', x=np.zeros(2, [('a', 'i4'), ('b', 'f4')]))\n"));
  const auto error = [&](const char* file) {
    return test::error_message<IoError>([&] { load_npz(folder_.file(file)); });
  };
  EXPECT_THAT(error("fortran.npz"), HasSubstr("np.ascontiguousarray"));
  EXPECT_THAT(error("big.npz"), HasSubstr("'>f4'"));
  EXPECT_THAT(error("half.npz"), HasSubstr("'<f2'"));
  EXPECT_THAT(error("text.npz"), HasSubstr("'<U1'"));
  EXPECT_THAT(error("fields.npz"), HasSubstr("several fields"));
}

TEST_F(NumpyExchange, BringsBackWhatPythonSavesAgain) {
  const Graph graph = zoo::random_graph(50, 400, 9, 6);
  save_graph(folder_.file("there.npz"), graph);
  ASSERT_TRUE(run("np.savez_compressed('back.npz', **np.load('there.npz'))"));
  test::expect_same_graph(load_graph(folder_.file("back.npz")), graph);
}

}  // namespace
}  // namespace bough
