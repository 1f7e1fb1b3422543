#include "bough/graph/needed_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/errors.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using test::graph_error;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

using Values = std::vector<std::uint64_t>;

/// A layer that notices every difference: node, sources and types all go into the new value.
std::uint64_t mixed(std::uint64_t value) { return (value ^ (value >> 29)) * 0x9E3779B97F4A7C15u + 1; }

std::uint64_t message(std::uint64_t source, std::int32_t type) {
  return mixed(source * 31 + static_cast<unsigned>(type));
}

std::int32_t type_of(const Graph& graph, std::int64_t edge) {
  return graph.edge_types().empty() ? 0 : graph.edge_types()[static_cast<std::size_t>(edge)];
}

Values whole_layer(const Graph& graph, const Values& before) {
  Values after;
  for (const std::uint64_t value : before) after.push_back(mixed(value));
  for (std::int64_t edge = 0; edge < graph.num_edges(); ++edge) {
    after[graph.coo().dst[edge]] += message(before[graph.coo().src[edge]], type_of(graph, edge));
  }
  return after;
}

Values pruned_layer(const LayerView& view, const Values& before) {
  EXPECT_EQ(static_cast<std::int64_t>(before.size()), view.sources.size());
  Values after;
  for (const std::int32_t row : view.destination_rows) after.push_back(mixed(before[row]));
  for (std::int64_t edge = 0; edge < view.graph.num_edges(); ++edge) {
    after[view.graph.coo().dst[edge]] += message(before[view.graph.coo().src[edge]], type_of(view.graph, edge));
  }
  return after;
}

TEST(NeededNodes, GiveTheReadOutThatTheWholeGraphGives) {
  for (const auto& [name, graph] : zoo::all()) {
    if (graph.is_bipartite() || graph.num_nodes() == 0) continue;
    SCOPED_TRACE(name);
    const auto last = static_cast<std::int32_t>(graph.num_nodes()) - 1;
    for (const IdArray& readout : {IdArray{last}, IdArray{last, 0, last / 2, last}, IdArray{0}}) {
      for (int layers = 1; layers <= 4; ++layers) {
        Values whole(static_cast<std::size_t>(graph.num_nodes()));
        for (std::size_t node = 0; node < whole.size(); ++node) whole[node] = mixed(node);
        const NeededNodes needed = graph.needed_nodes(readout, layers);
        ASSERT_EQ(needed.layers.size(), static_cast<std::size_t>(layers));
        Values pruned;
        for (const std::int32_t node : needed.layers.front().sources) pruned.push_back(whole[node]);
        for (const LayerView& view : needed.layers) {
          whole = whole_layer(graph, whole);
          pruned = pruned_layer(view, pruned);
        }
        for (std::int64_t i = 0; i < readout.size(); ++i) {
          ASSERT_EQ(pruned[needed.readout_rows[i]], whole[readout[i]]);
        }
      }
    }
  }
}

TEST(NeededNodes, AreExactlyThoseWithAPathToTheReadOut) {
  for (const auto& [name, graph] : zoo::all()) {
    if (graph.is_bipartite() || graph.num_nodes() == 0) continue;
    SCOPED_TRACE(name);
    std::set<std::int32_t> reached{0};
    const NeededNodes needed = graph.needed_nodes({0}, 3);
    for (int layer = 2; layer >= 0; --layer) {
      const LayerView& view = needed.layers[static_cast<std::size_t>(layer)];
      EXPECT_THAT(view.destinations, ElementsAreArray(reached));
      std::vector<std::int32_t> edges;
      const std::set<std::int32_t> before = reached;
      for (std::int32_t edge = 0; edge < graph.num_edges(); ++edge) {
        if (!before.contains(graph.coo().dst[edge])) continue;
        reached.insert(graph.coo().src[edge]);
        edges.push_back(edge);
      }
      EXPECT_THAT(view.sources, ElementsAreArray(reached));
      EXPECT_THAT(view.edge_ids, testing::UnorderedElementsAreArray(edges));
    }
  }
}

TEST(NeededNodes, OfAChainGrowByOneForEachLayer) {
  const NeededNodes needed = zoo::chain(10).needed_nodes({9}, 2);
  EXPECT_THAT(needed.layers[0].sources, ElementsAre(7, 8, 9));
  EXPECT_THAT(needed.layers[0].destinations, ElementsAre(8, 9));
  EXPECT_THAT(needed.layers[0].destination_rows, ElementsAre(1, 2));
  EXPECT_THAT(needed.layers[0].edge_ids, ElementsAre(7, 8));
  EXPECT_TRUE(needed.layers[0].graph.is_bipartite());
  EXPECT_THAT(needed.layers[0].graph.coo().src, ElementsAre(0, 1));
  EXPECT_THAT(needed.layers[1].sources, ElementsAre(8, 9));
  EXPECT_THAT(needed.layers[1].destinations, ElementsAre(9));
}

TEST(NeededNodes, ShareTheViewOfLayersThatNeedTheSame) {
  const NeededNodes needed = zoo::chain(4).needed_nodes({2}, 5);
  EXPECT_THAT(needed.layers[0].sources, ElementsAre(0, 1, 2));
  EXPECT_TRUE(needed.layers[0].graph.same_as(needed.layers[1].graph));
  EXPECT_FALSE(needed.layers[1].graph.same_as(needed.layers[3].graph));
}

TEST(NeededNodes, UseTheGraphItselfWhereNothingCanBeLeftOut) {
  const Graph graph = zoo::causal_window(5, 5);
  const NeededNodes needed = graph.needed_nodes({4}, 3);
  EXPECT_TRUE(needed.layers[0].graph.same_as(graph));
  EXPECT_TRUE(needed.layers[1].graph.same_as(graph));
  EXPECT_FALSE(needed.layers[2].graph.same_as(graph));
  EXPECT_THAT(needed.layers[0].destination_rows, ElementsAre(0, 1, 2, 3, 4));
}

TEST(NeededNodes, GiveViewsInTheOrderOfDestinations) {
  const Graph graph = zoo::random_graph(300, 900, 8, 3);
  for (const LayerView& view : graph.needed_nodes({5, 17}, 2).layers) {
    EXPECT_TRUE(view.graph.csc(EdgeIds::implied).in_edge_order);
    EXPECT_EQ(view.graph.num_edge_types(), 3);
  }
}

TEST(NeededNodes, OfNoReadOutOrNoLayersAreNone) {
  const NeededNodes nothing = zoo::chain(3).needed_nodes({}, 2);
  ASSERT_EQ(nothing.layers.size(), 2u);
  EXPECT_EQ(nothing.layers[0].graph.num_src(), 0);
  EXPECT_THAT(nothing.readout_rows, IsEmpty());
  const NeededNodes unchanged = zoo::chain(3).needed_nodes({2, 0}, 0);
  EXPECT_TRUE(unchanged.layers.empty());
  EXPECT_THAT(unchanged.readout_rows, ElementsAre(1, 0));
}

TEST(NeededNodes, RefuseWhatIsNotThere) {
  EXPECT_THAT(graph_error([] { zoo::chain(3).needed_nodes({3}, 1); }), HasSubstr("node 3"));
  EXPECT_THAT(graph_error([] { zoo::chain(3).needed_nodes({0}, -1); }), HasSubstr("-1"));
  EXPECT_THAT(graph_error([] { zoo::random_bipartite(2, 2, 1, 1).needed_nodes({0}, 1); }), HasSubstr("bipartite"));
}

}  // namespace
}  // namespace bough
