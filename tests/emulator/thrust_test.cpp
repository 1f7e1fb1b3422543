#include <gtest/gtest.h>
#include <thrust/system/tbb/execution_policy.h>

#include "kernels/thrust/grouping.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

/// Compares with the graph store's own conversion.
void expect_same(const CompressedView& expected, std::span<const std::int32_t> rows,
                 std::span<const std::int32_t> neighbours) {
  const std::size_t edges = rows.size();
  std::vector<std::int64_t> offsets(expected.offsets.size()), keys(edges);
  std::vector<std::int32_t> indices(edges), edge_ids(edges);
  parallel::compress(thrust::tbb::par, rows.data(), neighbours.data(), static_cast<std::int64_t>(edges),
                     expected.num_rows(), {offsets.data(), indices.data(), edge_ids.data(), keys.data()});
  EXPECT_TRUE(std::ranges::equal(offsets, expected.offsets));
  EXPECT_TRUE(std::ranges::equal(indices, expected.indices));
  EXPECT_TRUE(std::ranges::equal(edge_ids, expected.edge_ids));
}

TEST(ThrustCompress, GroupsEdgesAsTheGraphStoreDoes) {
  for (const zoo::Animal& animal : zoo::all(3000)) {
    SCOPED_TRACE(animal.name);
    const CooView edges = animal.graph.coo();
    expect_same(animal.graph.csc(), edges.dst, edges.src);
    expect_same(animal.graph.csr(), edges.src, edges.dst);
  }
}

TEST(ThrustCompress, TakesLargeGraphs) {
  const Graph graph = zoo::power_law(20'000, 300'000, 3);
  expect_same(graph.csc(), graph.coo().dst, graph.coo().src);
}

TEST(ThrustGroupRows, SortsAnIndexByRowAndKeepsTheOrderWithin) {
  for (const std::int64_t count : {0, 1, 1000}) {
    const Tensor index = test::random_indices({count}, 0, 7, DType::int64, 3);
    std::vector<std::int64_t> keys(static_cast<std::size_t>(count)), offsets(9);
    std::vector<std::int32_t> order(static_cast<std::size_t>(count));
    parallel::group_rows(thrust::tbb::par, index.data<std::int64_t>(), count, std::int64_t{8}, keys.data(),
                         order.data(), offsets.data());
    EXPECT_EQ(offsets.front(), 0);
    EXPECT_EQ(offsets[7], count) << "row 7 is empty";
    EXPECT_EQ(offsets.back(), count);
    for (std::int64_t row = 0; row < 8; ++row) {
      for (std::int64_t i = offsets[static_cast<std::size_t>(row)]; i < offsets[static_cast<std::size_t>(row) + 1];
           ++i) {
        EXPECT_EQ(index.data<std::int64_t>()[order[static_cast<std::size_t>(i)]], row);
        if (i > offsets[static_cast<std::size_t>(row)]) {
          EXPECT_LT(order[static_cast<std::size_t>(i) - 1], order[static_cast<std::size_t>(i)]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace bough
