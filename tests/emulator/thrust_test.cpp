#include <gtest/gtest.h>
#include <thrust/copy.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/system/tbb/execution_policy.h>

#include "bough/detail/simt/row_items.h"
#include "kernels/thrust/grouping.h"
#include "kernels/thrust/row_items.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

/// See kernels/thrust/primitives.h: on the host, through TBB.
class HostPrimitives {
 public:
  /// Memory that holds something else than zeros.
  template <typename T>
  class Room {
   public:
    explicit Room(std::int64_t count) : values_(static_cast<std::size_t>(count), T{77}) {}
    T* data() const { return const_cast<T*>(values_.data()); }

   private:
    std::vector<T> values_;
  };

  const auto& policy() const { return thrust::tbb::par; }

  template <typename T>
  Room<T> scratch(std::int64_t count) {
    return Room<T>(count);
  }

  /// Looks at the bits alone that it is told of, as a radix sort does.
  void sort_pairs(const std::int64_t* keys, std::int64_t* sorted_keys, const std::int32_t* values,
                  std::int32_t* sorted_values, std::int64_t count, int bits) {
    thrust::copy(policy(), keys, keys + count, sorted_keys);
    thrust::copy(policy(), values, values + count, sorted_values);
    const std::int64_t mask = (std::int64_t{1} << bits) - 1;
    thrust::stable_sort_by_key(policy(), sorted_keys, sorted_keys + count, sorted_values,
                               [mask](std::int64_t a, std::int64_t b) { return (a & mask) < (b & mask); });
  }

  void exclusive_sum(const std::int64_t* values, std::int64_t* sums, std::int64_t count) {
    thrust::exclusive_scan(policy(), values, values + count, sums, std::int64_t{0});
  }
};

static_assert(parallel::Primitives<HostPrimitives>);

/// Compares with the graph store's own conversion.
void expect_same(const CompressedView& expected, std::span<const std::int32_t> rows,
                 std::span<const std::int32_t> neighbours, std::int64_t num_neighbours) {
  const std::size_t edges = rows.size();
  std::vector<std::int64_t> offsets(expected.offsets.size());
  std::vector<std::int32_t> indices(edges), edge_ids(edges);
  HostPrimitives host;
  parallel::compress(host, rows.data(), neighbours.data(), static_cast<std::int64_t>(edges), expected.num_rows(),
                     num_neighbours, {offsets.data(), indices.data(), edge_ids.data()});
  EXPECT_TRUE(std::ranges::equal(offsets, expected.offsets));
  EXPECT_TRUE(std::ranges::equal(indices, expected.indices));
  EXPECT_TRUE(std::ranges::equal(edge_ids, expected.edge_ids));
}

TEST(ThrustCompress, GroupsEdgesAsTheGraphStoreDoes) {
  for (const zoo::NamedGraph& named : zoo::all(3000)) {
    SCOPED_TRACE(named.name);
    const CooView edges = named.graph.coo();
    expect_same(named.graph.csc(), edges.dst, edges.src, named.graph.num_src());
    expect_same(named.graph.csr(), edges.src, edges.dst, named.graph.num_dst());
  }
}

TEST(ThrustCompress, TakesLargeGraphs) {
  const Graph graph = zoo::power_law(20'000, 300'000, 3);
  expect_same(graph.csc(), graph.coo().dst, graph.coo().src, graph.num_src());
}

TEST(ThrustGroupRows, SortsAnIndexByRowAndKeepsTheOrderWithin) {
  for (const std::int64_t count : {0, 1, 1000}) {
    const Tensor index = test::random_indices({count}, 0, 7, DType::int64, 3);
    std::vector<std::int64_t> offsets(9);
    std::vector<std::int32_t> order(static_cast<std::size_t>(count));
    HostPrimitives host;
    parallel::group_rows(host, index.data<std::int64_t>(), count, 8, order.data(), offsets.data());
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

TEST(ThrustRowItems, AreThoseMadeOnTheHost) {
  for (const zoo::NamedGraph& named : zoo::all(3000)) {
    for (const std::int64_t split_edges : {1, 3, 256}) {
      SCOPED_TRACE(named.name + " " + std::to_string(split_edges));
      const CompressedView rows = named.graph.csc();
      const simt::RowItems expected = simt::make_row_items(rows.offsets, split_edges);
      std::vector<std::int64_t> partials_before(rows.offsets.size()), split_rows_before(rows.offsets.size());
      const parallel::RowSplitting splitting{rows.offsets.data(), rows.num_rows(), split_edges};
      HostPrimitives host;
      parallel::count_row_items(host, splitting, partials_before.data(), split_rows_before.data());
      ASSERT_EQ(partials_before.back(), expected.num_partials);
      ASSERT_EQ(split_rows_before.back(), static_cast<std::int64_t>(expected.split_rows.size()));
      std::vector<simt::RowItem> items(expected.items.size());
      std::vector<simt::SplitRowItem> split_rows(expected.split_rows.size());
      parallel::fill_row_items(host, splitting, partials_before.data(), split_rows_before.data(), expected.num_partials,
                               items.data(), split_rows.data());
      for (std::size_t i = 0; i < items.size(); ++i) {
        EXPECT_EQ(
            std::tie(items[i].begin, items[i].end, items[i].row, items[i].partial),
            std::tie(expected.items[i].begin, expected.items[i].end, expected.items[i].row, expected.items[i].partial));
      }
      for (std::size_t i = 0; i < split_rows.size(); ++i) {
        const simt::SplitRowItem &made = split_rows[i], &wanted = expected.split_rows[i];
        EXPECT_EQ(std::tie(made.row, made.first_partial, made.num_partials),
                  std::tie(wanted.row, wanted.first_partial, wanted.num_partials));
      }
    }
  }
}

}  // namespace
}  // namespace bough
