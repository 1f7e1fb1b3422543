#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "bough/graph/batch.h"
#include "bough/graph/graph_generator.h"
#include "bough/ops/attention_plan.h"
#include "kernels/attention/plan/attention_plan.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

Graph pattern(const char* kind, const nlohmann::json& parameters, std::int64_t length, bool causal) {
  return generators().make(kind, parameters)->build({.length = length, .causal = causal}).graph;
}

std::vector<Graph> graphs() {
  std::vector<Graph> result{pattern("bpt", {{"k", 1}}, 200, true),
                            pattern("bpt", {{"k", 4}, {"alignment", "slot"}}, 1000, true),
                            pattern("bpt", {{"k", 20}}, 333, false),
                            pattern("full", {{"max_distance", 30}}, 100, true),
                            pattern("full", {}, 1200, true),
                            pattern("longformer", {{"width", 24}, {"global", 2}}, 150, false),
                            batch({pattern("bpt", {{"k", 2}}, 45, false), pattern("bpt", {{"k", 2}}, 90, false)})};
  for (const zoo::NamedGraph& named : zoo::all()) result.push_back(named.graph);
  return result;
}

constexpr std::int32_t not_told = -2;

struct PlannedEdge {
  std::int32_t src, dst, relation;
  auto operator<=>(const PlannedEdge&) const = default;
};

std::size_t place_of(const AttentionPlan::ColumnBlock& block, std::int32_t column, std::int32_t lane) {
  return static_cast<std::size_t>((block.column_begin + column) * lane_groups + lane / lane_group_size);
}

/// Relation of (column, lane) of a block, or not_told in blocks that need none.
std::int32_t relation_of(const AttentionPlan& plan, const AttentionPlan::WorkItem& item,
                         const AttentionPlan::ColumnBlock& block, std::int32_t column, std::int32_t lane) {
  const AttentionPlan::Tile& tile = plan.tiles[static_cast<std::size_t>(block.tile)];
  if (plan.with_relations && column >= block.fold_begin) return plan.column_relations[place_of(block, column, lane)];
  for (std::int32_t s = block.mixed_begin; s < block.mixed_end; ++s) {
    const AttentionPlan::MixedColumns& mixed = plan.mixed_columns[static_cast<std::size_t>(s)];
    EXPECT_LE(mixed.column_end - mixed.column_begin, AttentionPlan::most_mixed_columns);
    if (column < mixed.column_begin || column >= mixed.column_end) continue;
    const std::int32_t place =
        plan.dictionary_places[static_cast<std::size_t>(std::int64_t{mixed.place_begin} + lane)] + column -
        mixed.column_begin;
    EXPECT_GE(place, 0);
    const std::int32_t number = place / AttentionPlan::dictionary_block;
    EXPECT_LT(number, tile.dictionary_block_end - tile.dictionary_block_begin);
    const std::int64_t in_dictionary =
        item.dictionary_begin + place % AttentionPlan::dictionary_block +
        std::int64_t{AttentionPlan::dictionary_block} *
            plan.dictionary_blocks[static_cast<std::size_t>(std::int64_t{tile.dictionary_block_begin} + number)];
    EXPECT_LT(in_dictionary, item.dictionary_end);
    return plan.dictionary_relations[static_cast<std::size_t>(in_dictionary)];
  }
  return not_told;
}

/// Every edge that the tiles say they have.
std::vector<PlannedEdge> edges_in_tiles(const AttentionPlan& plan) {
  std::vector<PlannedEdge> edges;
  for (const AttentionPlan::WorkItem& item : plan.work_items) {
    for (std::int32_t w = item.staged_begin; w < item.staged_end; ++w) {
      const AttentionPlan::StagedBlock& staged = plan.staged_blocks[static_cast<std::size_t>(w)];
      for (std::int32_t p = staged.column_block_begin; p < staged.column_block_end; ++p) {
        const AttentionPlan::ColumnBlock& block = plan.column_blocks[static_cast<std::size_t>(p)];
        const AttentionPlan::Tile& tile = plan.tiles[static_cast<std::size_t>(block.tile)];
        for (std::int32_t c = 0; c < block.num_columns; ++c) {
          const auto column = static_cast<std::size_t>(block.column_begin + c);
          for (std::int32_t lane = 0; lane < tile_lanes; ++lane) {
            if ((plan.column_masks[column] >> lane & 1) == 0) continue;
            const std::uint16_t row = plan.column_rows[place_of(block, c, lane)];
            const std::int32_t source = plan.staged_sources[static_cast<std::size_t>(staged.source_begin) + row];
            edges.push_back(
                {source, tile.rows[static_cast<std::size_t>(lane)], relation_of(plan, item, block, c, lane)});
          }
        }
      }
    }
  }
  return edges;
}

TEST(AttentionPlan, HasEveryEdgeOnceInATileOrInARow) {
  for (const Graph& graph : graphs()) {
    for (const bool relations : {false, true}) {
      if (relations && graph.edge_types().empty()) continue;
      const AttentionPlan plan = make_attention_plan(graph, relations);
      std::set<std::int32_t> in_rows;
      for (const AttentionRowItem& item : plan.rows.items) {
        for (std::int32_t row = item.row_begin; row < item.row_end; ++row) in_rows.insert(row);
      }
      std::vector<std::pair<std::int32_t, std::int32_t>> expected, actual;
      for (std::size_t e = 0; e < graph.coo().src.size(); ++e) {
        if (!in_rows.contains(graph.coo().dst[e])) expected.emplace_back(graph.coo().src[e], graph.coo().dst[e]);
      }
      for (const PlannedEdge& edge : edges_in_tiles(plan)) actual.emplace_back(edge.src, edge.dst);
      std::ranges::sort(expected);
      std::ranges::sort(actual);
      EXPECT_EQ(actual, expected);
      EXPECT_EQ(plan.summary.tile_edges, static_cast<std::int64_t>(actual.size()));
      EXPECT_EQ(plan.summary.tile_edges + plan.summary.row_edges, graph.num_edges());
      if (plan.has_tiles() && plan.has_rows()) {
        EXPECT_EQ(plan.row_edges_by_source().num_edges(), plan.summary.row_edges);
      }
    }
  }
}

TEST(AttentionPlan, KnowsTheRelationOfEveryEdgeUnlessItsRowHasOnlyOne) {
  for (const Graph& graph : graphs()) {
    if (graph.edge_types().empty()) continue;
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> types;
    std::map<std::int32_t, std::set<std::int32_t>> of_row;
    for (std::size_t e = 0; e < graph.coo().src.size(); ++e) {
      types[{graph.coo().src[e], graph.coo().dst[e]}] = graph.edge_types()[e];
      of_row[graph.coo().dst[e]].insert(graph.edge_types()[e]);
    }
    for (const PlannedEdge& edge : edges_in_tiles(make_attention_plan(graph, true))) {
      if (edge.relation == not_told) {
        EXPECT_EQ(of_row[edge.dst].size(), 1u);
      } else {
        EXPECT_EQ(edge.relation, (types[{edge.src, edge.dst}]));
      }
    }
  }
}

TEST(AttentionPlan, QuadsHaveExactlyTheColumnsTheyUse) {
  const AttentionPlan plan = make_attention_plan(pattern("bpt", {{"k", 4}}, 1000, true), true);
  for (const AttentionPlan::ColumnBlock& block : plan.column_blocks) {
    for (std::int32_t q = 0; q < quads; ++q) {
      std::vector<std::uint16_t> expected;
      for (std::int32_t c = 0; c < block.num_columns; ++c) {
        const std::uint32_t mask = plan.column_masks[static_cast<std::size_t>(block.column_begin + c)];
        if ((mask >> (q * quad_lanes) & 0xF) != 0) expected.push_back(static_cast<std::uint16_t>(c));
      }
      const auto begin = plan.quad_columns.begin();
      EXPECT_EQ(std::vector(begin + block.quad_begin[static_cast<std::size_t>(q)],
                            begin + block.quad_begin[static_cast<std::size_t>(q) + 1]),
                expected);
    }
  }
}

TEST(AttentionPlan, PairsSourcesOfOneLaneGroupWithThoseOfTheOther) {
  for (const Graph& graph : graphs()) {
    const AttentionPlan plan = make_attention_plan(graph, !graph.edge_types().empty());
    for (const AttentionPlan::ColumnBlock& block : plan.column_blocks) {
      std::array<std::int64_t, 2> alone{};  // columns of one lane group, not to be folded and to be folded
      for (std::int32_t c = 0; c < block.num_columns; ++c) {
        const std::size_t low = place_of(block, c, 0), high = low + 1;
        const std::uint32_t mask = plan.column_masks[low / 2];
        const bool two_sources = plan.column_rows[low] != plan.column_rows[high];
        const bool two_relations = plan.with_relations && plan.column_relations[low] != plan.column_relations[high];
        const bool paired = c >= block.paired_begin && c < block.paired_end;
        EXPECT_TRUE(paired == (two_sources || two_relations)) << "column " << c;
        EXPECT_TRUE(!two_sources || ((mask & 0xffu) != 0 && (mask & 0xff00u) != 0));
        if ((mask & 0xff00u) == 0) alone[c >= block.fold_begin] |= 1;
        if ((mask & 0x00ffu) == 0) alone[c >= block.fold_begin] |= 2;
      }
      if (!block.first || !block.last) continue;
      EXPECT_THAT(alone, testing::Each(testing::Ne(3))) << "two of these columns could have been a pair";
    }
  }
  // Of 16 rows that have 8 sources each, both lane groups share few sources.
  const AttentionPlanSummary window = attention_plan_summary(pattern("full", {{"max_distance", 7}}, 512, true));
  EXPECT_GT(window.fill(), 0.5);
}

TEST(AttentionPlan, TilesAreWholeIfOneColumnBlockHasAllEdgesOfTheirRows) {
  std::int64_t whole = 0, others = 0;
  for (const Graph& graph : graphs()) {
    const AttentionPlan plan = make_attention_plan(graph, false);
    std::vector<std::int64_t> blocks(plan.tiles.size(), 0), edges(plan.tiles.size(), 0);
    for (const AttentionPlan::ColumnBlock& block : plan.column_blocks) {
      ++blocks[static_cast<std::size_t>(block.tile)];
      for (std::int32_t c = 0; c < block.num_columns; ++c) {
        edges[static_cast<std::size_t>(block.tile)] +=
            std::popcount(plan.column_masks[static_cast<std::size_t>(block.column_begin + c)]);
      }
    }
    for (std::size_t t = 0; t < plan.tiles.size(); ++t) {
      std::int64_t degrees = 0;
      for (std::int32_t lane = 0; lane < plan.tiles[t].num_lanes; ++lane) {
        degrees += graph.csc().degree(plan.tiles[t].rows[static_cast<std::size_t>(lane)]);
      }
      EXPECT_EQ(plan.tiles[t].whole, blocks[t] == 1 && edges[t] == degrees);
      (plan.tiles[t].whole ? whole : others) += 1;
    }
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(others, 0);
}

TEST(AttentionPlan, EveryPartitionStartsEverySumOnce) {
  for (const Graph& graph : graphs()) {
    const AttentionPlan plan = make_attention_plan(graph, false);
    std::map<std::pair<bool, std::int32_t>, std::int32_t> partition_of;
    std::set<std::int32_t> sources(plan.untouched_sources.begin(), plan.untouched_sources.end());
    for (std::size_t s = 0; s < plan.partitions.size(); ++s) {
      for (std::int32_t r = plan.partitions[s].work_item_begin; r < plan.partitions[s].work_item_end; ++r) {
        const AttentionPlan::WorkItem& item = plan.work_items[static_cast<std::size_t>(r)];
        for (std::int32_t w = item.staged_begin; w < item.staged_end; ++w) {
          const AttentionPlan::StagedBlock& staged = plan.staged_blocks[static_cast<std::size_t>(w)];
          for (std::int64_t i = staged.source_begin; i < staged.source_begin + staged.num_sources; ++i) {
            const AttentionPlan::ScatterAdd& add = plan.scatter_adds[static_cast<std::size_t>(i)];
            const auto [entry, inserted] =
                partition_of.try_emplace({add.shared, add.target}, static_cast<std::int32_t>(s));
            EXPECT_EQ(add.first, inserted);
            EXPECT_EQ(entry->second, static_cast<std::int32_t>(s)) << "two partitions write to the same place";
            sources.insert(plan.staged_sources[static_cast<std::size_t>(i)]);
          }
        }
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(sources.size()), graph.num_src());
  }
}

TEST(AttentionPlan, PutsPartitionGraphsAndWindowsIntoTiles) {
  const AttentionPlanSummary tree = attention_plan_summary(pattern("bpt", {{"k", 64}}, 2048, true), true);
  EXPECT_GT(tree.tiled_share(), 0.95);
  EXPECT_GT(tree.fill(), 0.8);
  const AttentionPlanSummary full = attention_plan_summary(pattern("full", {}, 512, true));
  EXPECT_EQ(full.tiled_share(), 1);
  EXPECT_GT(full.fill(), 0.9);
  EXPECT_GT(attention_plan_summary(pattern("window", {{"width", 32}}, 1000, true)).tiled_share(), 0.95);
}

TEST(AttentionPlan, LeavesRandomGraphsToTheRows) {
  EXPECT_EQ(attention_plan_summary(zoo::random_graph(5000, 50000, 1)).tiles, 0);
}

TEST(AttentionPlan, SplitsRowsOfAnySize) {
  const AttentionPlan plan = make_attention_plan(zoo::split_row(20000, true), false);
  EXPECT_GE(plan.split_rows.size() + plan.rows.split_rows.size(), 1u);
}

TEST(AttentionPlan, IsTheSameForAnyNumberOfThreads) {
  const Graph graph = pattern("bpt", {{"k", 4}}, 3000, true);
  const auto build = [&](int threads) {
    const test::ThreadCount count(threads);
    return make_attention_plan(graph, true);
  };
  const AttentionPlan one = build(1), seven = build(7);
  EXPECT_EQ(one.column_masks, seven.column_masks);
  EXPECT_EQ(one.column_rows, seven.column_rows);
  EXPECT_EQ(one.staged_sources, seven.staged_sources);
  EXPECT_EQ(one.dictionary_places, seven.dictionary_places);
  EXPECT_EQ(one.dictionary_relations, seven.dictionary_relations);
  EXPECT_EQ(one.quad_columns, seven.quad_columns);
}

TEST(AttentionPlan, IsMadeOnceAndShared) {
  const Graph graph = pattern("bpt", {{"k", 4}}, 100, true);
  const Graph copy = graph;  // NOLINT(performance-unnecessary-copy-initialization): a copy shares the plan
  EXPECT_EQ(attention_plan(graph, true), attention_plan(copy, true));
  EXPECT_NE(attention_plan(graph, true), attention_plan(graph, false));
  EXPECT_GT(attention_plan_summary(graph, true).bytes, 0);
}

TEST(AttentionPlan, SummaryIsReadableAndAsksForTypes) {
  EXPECT_THAT(to_string(attention_plan_summary(pattern("bpt", {{"k", 4}}, 100, true))), testing::HasSubstr("fill"));
  EXPECT_THROW(attention_plan_summary(zoo::chain(5), true), GraphError);
}

TEST(AttentionPlan, BeginsTilesOfPartitionGraphsWhereTheirRelationsNeedFewProducts) {
  for (const char* alignment : {"pair", "slot"}) {
    for (const std::int64_t k : {4, 16, 64}) {
      SCOPED_TRACE(std::string(alignment) + " " + std::to_string(k));
      const AttentionPlan plan =
          make_attention_plan(pattern("bpt", {{"k", k}, {"alignment", alignment}}, 2048, true), true);
      std::int64_t relations = 0, tiles = 0;
      for (const AttentionPlan::Tile& tile : plan.tiles) {
        if (tile.dictionary_block_begin == tile.dictionary_block_end) continue;
        ++tiles;
        relations += (tile.dictionary_block_end - tile.dictionary_block_begin) * AttentionPlan::dictionary_block;
      }
      EXPECT_TRUE(std::ranges::any_of(plan.column_blocks,
                                      [](const auto& block) { return block.fold_begin < block.paired_end; }));
      // Of the levels of spans below the 16 tokens of a tile the highest is folded by lane groups, and all above it
      // whole: three levels and what lies around them are left.
      EXPECT_LE(relations, tiles * (3 * k + 20));
    }
  }
}

}  // namespace
}  // namespace bough
