// What a schedule leaves out, on every graph of the zoo: the read-out is what computing all nodes gives.
#include "bough/nn/layer_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "bough/core/errors.h"
#include "tests/support/errors.h"
#include "tests/support/graph_zoo.h"

namespace bough::nn {
namespace {

using test::graph_error;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

using Ids = std::vector<std::int32_t>;
using Values = std::vector<std::uint64_t>;

/// Any graph as an attention graph whose nodes are all tokens.
AttentionGraph of_tokens(const Graph& graph) {
  AttentionGraph result;
  result.graph = graph;
  for (std::int32_t node = 0; node < static_cast<std::int32_t>(graph.num_dst()); ++node) {
    result.tokens.push_back(node);
    result.kinds.push_back(NodeKind::token);
    result.covers.push_back({node, node + 1});
  }
  result.levels.resize(result.tokens.size());
  result.relations.resize(static_cast<std::size_t>(graph.num_edge_types()));
  result.sequences = {{.node_end = graph.num_dst(), .source_end = graph.num_src(), .token_end = graph.num_dst()}};
  return result;
}

LayerSchedule schedule_of(const Graph& graph, Ids readout, std::int64_t layers) {
  return make_layer_schedule(of_tokens(graph), {.layers = layers, .readout = std::move(readout)});
}

/// A row list as ids: `all` of them, in order, where it is undefined.
Ids listed(const Tensor& rows, std::size_t all) {
  if (rows.defined()) return rows.to_vector<std::int32_t>();
  Ids ids(all);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

template <typename T>
std::vector<T> picked(const std::vector<T>& values, const Ids& rows) {
  std::vector<T> result;
  for (const std::int32_t row : rows) result.push_back(values[static_cast<std::size_t>(row)]);
  return result;
}

/// A layer that notices every difference: node, sources and types all go into the new value.
std::uint64_t mixed(std::uint64_t value) { return (value ^ (value >> 29)) * 0x9E3779B97F4A7C15u + 1; }

std::uint64_t message(std::uint64_t source, std::int32_t type) {
  return mixed(source * 31 + static_cast<unsigned>(type));
}

Values mixed_layer(const Graph& graph, const Values& sources, const Values& destinations) {
  Values after;
  for (const std::uint64_t value : destinations) after.push_back(mixed(value));
  for (std::size_t edge = 0; edge < static_cast<std::size_t>(graph.num_edges()); ++edge) {
    const std::int32_t type = graph.edge_types().empty() ? 0 : graph.edge_types()[edge];
    after[static_cast<std::size_t>(graph.coo().dst[edge])] +=
        message(sources[static_cast<std::size_t>(graph.coo().src[edge])], type);
  }
  return after;
}

Values scheduled_layer(const LayerStep& step, const Values& live) {
  Values updated = mixed_layer(step.graphs.front(), picked(live, listed(step.source_rows, live.size())),
                               picked(live, listed(step.updated_rows, live.size())));
  EXPECT_EQ(updated.size(), static_cast<std::size_t>(step.graphs.front().num_dst()));
  if (!step.next_rows.defined()) return updated;
  Values both = updated;
  both.insert(both.end(), live.begin(), live.end());
  return picked(both, listed(step.next_rows, 0));
}

TEST(LayerSchedule, GivesTheReadOutThatTheWholeGraphGives) {
  for (const auto& [name, graph] : zoo::all()) {
    if (graph.is_bipartite() || graph.num_nodes() == 0) continue;
    SCOPED_TRACE(name);
    const auto last = static_cast<std::int32_t>(graph.num_nodes()) - 1;
    for (const Ids& readout : {Ids{last}, Ids{last, 0, last / 2, last}, Ids{0}}) {
      for (std::int64_t layers = 1; layers <= 4; ++layers) {
        Values whole(static_cast<std::size_t>(graph.num_nodes()));
        for (std::size_t node = 0; node < whole.size(); ++node) whole[node] = mixed(node);
        const LayerSchedule schedule = schedule_of(graph, readout, layers);
        ASSERT_EQ(schedule.layers.size(), static_cast<std::size_t>(layers));
        Values live = whole;
        for (const std::vector<LayerStep>& stages : schedule.layers) {
          whole = mixed_layer(graph, whole, whole);
          ASSERT_EQ(stages.size(), 1u);
          live = scheduled_layer(stages[0], live);
        }
        const Ids rows = listed(schedule.readout_rows.back(), live.size());
        ASSERT_EQ(rows.size(), readout.size());
        ASSERT_EQ(picked(live, rows), picked(whole, readout));
      }
    }
  }
}

TEST(LayerSchedule, ComputesExactlyTheNodesWithAPathToTheReadOut) {
  for (const auto& [name, graph] : zoo::all()) {
    if (graph.is_bipartite() || graph.num_nodes() == 0) continue;
    SCOPED_TRACE(name);
    // Sets of nodes that are needed after 3, 2, 1 and 0 layers, and the edges between them.
    std::vector<std::set<std::int32_t>> needed{{0}};
    std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> edges;
    for (int layer = 0; layer < 3; ++layer) {
      needed.push_back(needed.back());
      edges.emplace_back();
      for (std::size_t edge = 0; edge < static_cast<std::size_t>(graph.num_edges()); ++edge) {
        const std::int32_t src = graph.coo().src[edge], dst = graph.coo().dst[edge];
        if (!needed[needed.size() - 2].contains(dst)) continue;
        needed.back().insert(src);
        edges.back().emplace_back(src, dst);
      }
    }
    const LayerSchedule schedule = schedule_of(graph, {0}, 3);
    Ids live(static_cast<std::size_t>(graph.num_nodes()));
    std::iota(live.begin(), live.end(), 0);
    for (std::size_t layer = 0; layer < 3; ++layer) {
      const LayerStep& step = schedule.layers[layer][0];
      const Ids sources = picked(live, listed(step.source_rows, live.size()));
      const Ids updated = picked(live, listed(step.updated_rows, live.size()));
      EXPECT_THAT(sources, ElementsAreArray(needed[3 - layer]));
      EXPECT_THAT(updated, ElementsAreArray(needed[2 - layer]));
      std::vector<std::pair<std::int32_t, std::int32_t>> followed;
      for (std::size_t edge = 0; edge < static_cast<std::size_t>(step.graphs[0].num_edges()); ++edge) {
        followed.emplace_back(sources[static_cast<std::size_t>(step.graphs[0].coo().src[edge])],
                              updated[static_cast<std::size_t>(step.graphs[0].coo().dst[edge])]);
      }
      EXPECT_THAT(followed, testing::UnorderedElementsAreArray(edges[2 - layer]));
      live = updated;
    }
  }
}

TEST(LayerSchedule, OfAChainGrowsByOneNodeForEachLayer) {
  const LayerSchedule schedule = schedule_of(zoo::chain(10), {9}, 2);
  const LayerStep &first = schedule.layers[0][0], &second = schedule.layers[1][0];
  EXPECT_THAT(first.source_rows.to_vector<int>(), ElementsAre(7, 8, 9)) << "tokens that are read";
  EXPECT_THAT(first.updated_rows.to_vector<int>(), ElementsAre(8, 9));
  EXPECT_TRUE(first.graphs[0].is_bipartite());
  EXPECT_THAT(first.graphs[0].coo().src, ElementsAre(0, 1));
  EXPECT_THAT(first.graphs[0].coo().dst, ElementsAre(0, 1));
  EXPECT_FALSE(second.source_rows.defined()) << "all live rows";
  EXPECT_THAT(second.updated_rows.to_vector<int>(), ElementsAre(1));
}

TEST(LayerSchedule, SharesTheGraphsOfLayersThatNeedTheSame) {
  const LayerSchedule schedule = schedule_of(zoo::chain(4), {2}, 5);
  const auto graph = [&](std::size_t layer) { return schedule.layers[layer][0].graphs[0]; };
  EXPECT_THAT(schedule.layers[0][0].source_rows.to_vector<int>(), ElementsAre(0, 1, 2));
  EXPECT_TRUE(graph(0).same_as(graph(1)));
  EXPECT_FALSE(graph(1).same_as(graph(3)));
}

TEST(LayerSchedule, UsesTheGraphItselfWhereNothingCanBeLeftOut) {
  const Graph graph = zoo::causal_window(5, 5);
  const LayerSchedule schedule = schedule_of(graph, {4}, 3);
  EXPECT_TRUE(schedule.layers[0][0].graphs[0].same_as(graph));
  EXPECT_TRUE(schedule.layers[1][0].graphs[0].same_as(graph));
  EXPECT_FALSE(schedule.layers[2][0].graphs[0].same_as(graph));
  EXPECT_FALSE(schedule.layers[0][0].updated_rows.defined()) << "all of them, in order";
}

TEST(LayerSchedule, HasGraphsInTheOrderOfDestinations) {
  const LayerSchedule schedule = schedule_of(zoo::random_graph(300, 900, 8, 3), {5, 17}, 2);
  for (const std::vector<LayerStep>& stages : schedule.layers) {
    EXPECT_TRUE(stages[0].graphs[0].csc(EdgeIds::implied).in_edge_order);
    EXPECT_EQ(stages[0].graphs[0].num_edge_types(), 3);
  }
}

TEST(LayerSchedule, GivesTheReadOutInTheOrderAskedFor) {
  const LayerSchedule schedule = schedule_of(zoo::chain(3), {2, 0}, 1);
  EXPECT_THAT(schedule.readout_rows[0].to_vector<int>(), ElementsAre(1, 0));
}

TEST(LayerSchedule, RefusesWhatIsNotThere) {
  EXPECT_THAT(graph_error([] { schedule_of(zoo::chain(3), {3}, 1); }), HasSubstr("node 3"));
  EXPECT_THAT([] { schedule_of(zoo::chain(3), {0}, -1); }, testing::ThrowsMessage<ConfigError>(HasSubstr("-1")));
  AttentionGraph bipartite = of_tokens(zoo::random_bipartite(2, 2, 1, 1));
  bipartite.source_kinds = {NodeKind::source, NodeKind::source};
  bipartite.source_covers = {{0, 1}, {1, 2}};
  bipartite.tokens = {1, 0};
  EXPECT_THAT(graph_error([&] { make_layer_schedule(bipartite, {.layers = 1}); }), HasSubstr("bipartite"));
}

TEST(LayerSchedule, RefusesAGraphWhosePartsDoNotFitEachOther) {
  const auto error = [](const AttentionGraph& graph) {
    return graph_error([&] { make_layer_schedule(graph, {.layers = 1}); });
  };
  AttentionGraph bare;
  bare.graph = Graph::from_edges({0, 1}, {1, 0});
  bare.tokens = {0, 1};
  EXPECT_THAT(error(bare), HasSubstr("levels has 0 entries, but there are 2 nodes"));
  AttentionGraph graph = of_tokens(zoo::chain(3));
  graph.kinds.clear();
  EXPECT_THAT(error(graph), HasSubstr("kinds has 0 entries"));
  graph = of_tokens(zoo::chain(3));
  graph.tokens = {0, 1, 1};
  EXPECT_THAT(error(graph), HasSubstr("tokens contains node 1 twice"));
  graph = of_tokens(zoo::chain(3));
  graph.sequences[0].token_end = 7;
  EXPECT_THAT(error(graph), HasSubstr("a sequence has tokens 0 to 6 of 3"));
}

}  // namespace
}  // namespace bough::nn
