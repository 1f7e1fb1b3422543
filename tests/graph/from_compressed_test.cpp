#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/graph/graph.h"
#include "tests/support/errors.h"
#include "tests/support/graph_compare.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using test::graph_error;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FromCompressed, BringsBackEveryGraphOfTheZoo) {
  for (const auto& [name, graph] : zoo::all()) {
    SCOPED_TRACE(name);
    const auto others = [&](std::int64_t count) { return graph.is_bipartite() ? std::optional(count) : std::nullopt; };
    const CsrView csr = graph.csr();
    const CscView csc = graph.csc();
    test::expect_same_graph(Graph::from_csr(csr.offsets, csr.indices,
                                            {.num_others = others(graph.num_dst()),
                                             .edge_ids = csr.edge_ids,
                                             .edge_types = graph.edge_types(),
                                             .num_edge_types = graph.num_edge_types()}),
                            graph);
    test::expect_same_graph(Graph::from_csc(csc.offsets, csc.indices,
                                            {.num_others = others(graph.num_src()),
                                             .edge_ids = csc.edge_ids,
                                             .edge_types = graph.edge_types(),
                                             .num_edge_types = graph.num_edge_types()}),
                            graph);
  }
}

TEST(FromCompressed, NumbersEdgesByPositionUnlessTold) {
  const std::vector<std::int64_t> offsets{0, 2, 2, 3};
  const Graph by_source = Graph::from_csr(offsets, {2, 0, 1});
  EXPECT_THAT(by_source.coo().src, ElementsAre(0, 0, 2));
  EXPECT_THAT(by_source.coo().dst, ElementsAre(2, 0, 1));
  const Graph by_destination = Graph::from_csc(offsets, {6, 0, 1}, {.num_others = 7});
  EXPECT_TRUE(by_destination.is_bipartite());
  EXPECT_EQ(by_destination.num_src(), 7);
  EXPECT_EQ(by_destination.num_dst(), 3);
  EXPECT_THAT(by_destination.coo().src, ElementsAre(6, 0, 1));
  EXPECT_THAT(by_destination.coo().dst, ElementsAre(0, 0, 2));
}

TEST(FromCompressed, RefusesOffsetsThatAreNone) {
  using Offsets = std::vector<std::int64_t>;
  const auto error = [](const Offsets& offsets, const IdArray& indices) {
    return graph_error([&] { Graph::from_csr(offsets, indices); });
  };
  EXPECT_THAT(error({}, {}), HasSubstr("there are none"));
  EXPECT_THAT(error({1, 2}, {0, 0}), HasSubstr("from 1 to 2"));
  EXPECT_THAT(error({0, 3}, {0, 0}), HasSubstr("from 0 to 3"));
  EXPECT_THAT(error({0, 5, 2}, {0, 0}), HasSubstr("entry 2 is 2 after 5"));
  EXPECT_THAT(error({0, -4, 2}, {0, 0}), HasSubstr("entry 1 is -4 after 0"));
  EXPECT_THAT(error({0, 1}, {1}), HasSubstr("destination 1, but there are 1 nodes"));
}

TEST(FromCompressed, RefusesEdgeIdsThatAreNoPermutation) {
  const std::vector<std::int64_t> offsets{0, 2};
  const auto error = [&](const IdArray& ids) {
    return graph_error([&] { Graph::from_csc(offsets, {0, 0}, {.edge_ids = ids}); });
  };
  EXPECT_THAT(error({0}), HasSubstr("each of the 2 indices, but has 1"));
  EXPECT_THAT(error({1, 1}), HasSubstr("entry 1 is 1 for the second time"));
  EXPECT_THAT(error({0, 2}), HasSubstr("entry 1 is 2"));
  EXPECT_THAT(error({-1, 0}), HasSubstr("entry 0 is -1"));
}

}  // namespace
}  // namespace bough
