#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/kernels/attention/planner_cases.h"

/// How tiles become work items with staged blocks, how partitions add gradients, and how rows outside tiles are split.
namespace bough {
namespace {

using test::graph_of_rows;
using test::numbers;
using test::Rows;
using testing::ElementsAre;

AttentionPlan arranged(const Graph& graph, const std::vector<DraftTile>& drafts,
                       const AttentionPlanOptions& options = {}) {
  std::vector<PlannedTile> tiles;
  for (const DraftTile& draft : drafts) tiles.push_back({draft, test::columns_of(graph, draft), {}});
  AttentionPlan plan;
  arrange_work_items(tiles, graph.num_src(), graph.num_dst(), options, plan);
  return plan;
}

/// Two tiles of two rows each; sources 2 and 3 are those of both.
Graph two_overlapping_tiles() { return graph_of_rows({{0, 2}, {2, 3}, {3, 5}, {2, 5}}); }
std::vector<DraftTile> two_tiles(const Graph& graph) {
  return {test::tile_of_rows(graph, {0, 1}), test::tile_of_rows(graph, {2, 3})};
}

TEST(WorkItems, StageTheSourcesOfAllTheirTilesOnce) {
  const Graph graph = two_overlapping_tiles();
  const AttentionPlan plan = arranged(graph, two_tiles(graph));
  ASSERT_EQ(plan.work_items.size(), 1u);
  EXPECT_EQ(plan.work_items[0].tile_end, 2);
  ASSERT_EQ(plan.staged_blocks.size(), 1u);
  EXPECT_THAT(plan.staged_sources, ElementsAre(0, 2, 3, 5));
  ASSERT_EQ(plan.column_blocks.size(), 2u);
  EXPECT_EQ(plan.column_blocks[0].num_columns, 3);
  EXPECT_THAT(plan.column_masks, ElementsAre(1, 3, 2, 2, 1, 3));
  EXPECT_THAT(plan.column_rows, ElementsAre(0, 0, 1, 1, 2, 2, 1, 1, 2, 2, 3, 3));
  EXPECT_TRUE(plan.tiles[0].whole);
}

TEST(WorkItems, AddGradientsOfOnePartitionToTheSourcesThemselves) {
  const Graph graph = two_overlapping_tiles();
  const AttentionPlan plan = arranged(graph, two_tiles(graph));
  ASSERT_EQ(plan.partitions.size(), 1u);
  EXPECT_EQ(plan.num_partial_buffers, 0);
  for (std::size_t i = 0; i < plan.scatter_adds.size(); ++i) {
    EXPECT_EQ(plan.scatter_adds[i].target, plan.staged_sources[i]);
    EXPECT_FALSE(plan.scatter_adds[i].shared);
    EXPECT_TRUE(plan.scatter_adds[i].first);
  }
  EXPECT_THAT(plan.untouched_sources, ElementsAre(1, 4));
}

TEST(WorkItems, GiveSourcesOfSeveralPartitionsAPartialBufferEach) {
  const Graph graph = two_overlapping_tiles();
  const AttentionPlan plan = arranged(graph, two_tiles(graph), {.stage_blocks = false});
  ASSERT_EQ(plan.work_items.size(), 2u);
  ASSERT_EQ(plan.partitions.size(), 2u);
  EXPECT_THAT(plan.staged_sources, ElementsAre(0, 2, 3, 2, 3, 5));
  ASSERT_EQ(plan.shared_sources.size(), 2u);
  EXPECT_EQ(plan.shared_sources[0].source, 2);
  EXPECT_EQ(plan.shared_sources[1].source, 3);
  EXPECT_EQ(plan.num_partial_buffers, 4);
  std::vector<std::int32_t> targets;
  for (const AttentionPlan::ScatterAdd& add : plan.scatter_adds) {
    targets.push_back(add.target);
    EXPECT_TRUE(add.first);
  }
  EXPECT_THAT(targets, ElementsAre(0, 0, 2, 1, 3, 5));
}

TEST(WorkItems, CutManySourcesIntoSeveralStagedBlocks) {
  const Graph graph = graph_of_rows(Rows(16, numbers(0, 3000)));
  const AttentionPlan plan = arranged(graph, {test::tile_of_rows(graph, numbers(0, 16))});
  EXPECT_EQ(plan.staged_blocks.size(), 3u);
  std::int64_t columns = 0;
  for (const AttentionPlan::ColumnBlock& block : plan.column_blocks) {
    EXPECT_LE(block.num_columns, AttentionPlan::most_block_columns);
    EXPECT_EQ(block.first, &block == &plan.column_blocks.front());
    EXPECT_EQ(block.last, &block == &plan.column_blocks.back());
    EXPECT_EQ(block.num_columns % column_multiple, 0);
    columns += block.num_columns;
  }
  EXPECT_EQ(columns, 3000);
  EXPECT_FALSE(plan.tiles[0].whole);
}

TEST(WorkItems, NumberThePartialResultsOfSplitRowsInTheOrderOfTheirTiles) {
  const Graph graph = graph_of_rows({numbers(0, 4), numbers(0, 4)});
  DraftTile low, high;
  for (const std::int32_t row : {0, 1}) {
    low.add(row, 4 * row, 4 * row + 2);
    high.add(row, 4 * row + 2, 4 * row + 4);
  }
  const AttentionPlan plan = arranged(graph, {low, high});
  ASSERT_EQ(plan.split_rows.size(), 2u);
  EXPECT_EQ(plan.num_partials, 4);
  EXPECT_EQ(plan.tiles[0].partials[0], 0);
  EXPECT_EQ(plan.tiles[1].partials[0], 1);
  EXPECT_EQ(plan.tiles[0].partials[1], 2);
  EXPECT_EQ(plan.tiles[1].partials[1], 3);
  EXPECT_FALSE(plan.tiles[0].whole);
}

TEST(WorkItems, CoverAllTilesAndStageEverySourceOnceAscending) {
  for (const Graph& graph : test::planned_graphs()) {
    for (const bool relations : {false, true}) {
      if (relations && graph.edge_types().empty()) continue;
      const AttentionPlan plan = make_attention_plan(graph, relations);
      std::int32_t tile = 0, staged_number = 0, column_block = 0;
      for (const AttentionPlan::WorkItem& item : plan.work_items) {
        EXPECT_EQ(item.tile_begin, tile);
        tile = item.tile_end;
        EXPECT_EQ(item.staged_begin, staged_number);
        EXPECT_EQ((item.dictionary_end - item.dictionary_begin) % AttentionPlan::dictionary_block, 0);
        std::set<std::int32_t> seen;
        for (; staged_number < item.staged_end; ++staged_number) {
          const AttentionPlan::StagedBlock& staged = plan.staged_blocks[static_cast<std::size_t>(staged_number)];
          EXPECT_EQ(staged.column_block_begin, column_block);
          column_block = staged.column_block_end;
          const auto sources =
              std::span(plan.staged_sources)
                  .subspan(static_cast<std::size_t>(staged.source_begin), static_cast<std::size_t>(staged.num_sources));
          EXPECT_TRUE(std::ranges::is_sorted(sources));
          for (const std::int32_t source : sources) EXPECT_TRUE(seen.insert(source).second);
          for (std::int32_t b = staged.column_block_begin; b < staged.column_block_end; ++b) {
            const AttentionPlan::ColumnBlock& block = plan.column_blocks[static_cast<std::size_t>(b)];
            EXPECT_GE(block.tile, item.tile_begin);
            EXPECT_LT(block.tile, item.tile_end);
            for (std::int64_t c = lane_groups * block.column_begin;
                 c < lane_groups * (block.column_begin + block.num_columns); ++c) {
              EXPECT_LT(plan.column_rows[static_cast<std::size_t>(c)], staged.num_sources);
            }
          }
        }
      }
      EXPECT_EQ(tile, static_cast<std::int32_t>(plan.tiles.size()));
      EXPECT_EQ(column_block, static_cast<std::int32_t>(plan.column_blocks.size()));
      std::int32_t item = 0;
      for (const AttentionPlan::Partition& partition : plan.partitions) {
        EXPECT_EQ(partition.work_item_begin, item);
        item = partition.work_item_end;
      }
      EXPECT_EQ(item, static_cast<std::int32_t>(plan.work_items.size()));
    }
  }
}

TEST(RowSchedule, CollectsSmallRowsAndSplitsOthers) {
  const std::vector<std::int64_t> offsets{0, 3, 5003, 5003, 5005};
  const std::vector<std::int32_t> indices(5005, 0);
  const RowSchedule schedule =
      make_row_schedule(CompressedView{offsets, indices, {}}, {.item_edges = 1024, .split_edges = 2048});
  ASSERT_EQ(schedule.items.size(), 5u);
  const auto is = [](const AttentionRowItem& item, std::int32_t row_begin, std::int32_t row_end,
                     std::int64_t edge_begin, std::int64_t edge_end, std::int32_t partial) {
    EXPECT_EQ(item.row_begin, row_begin);
    EXPECT_EQ(item.row_end, row_end);
    EXPECT_EQ(item.edge_begin, edge_begin);
    EXPECT_EQ(item.edge_end, edge_end);
    EXPECT_EQ(item.partial, partial);
  };
  is(schedule.items[0], 0, 1, 0, 3, -1);
  is(schedule.items[1], 1, 2, 3, 2051, 0);
  is(schedule.items[2], 1, 2, 2051, 4099, 1);
  is(schedule.items[3], 1, 2, 4099, 5003, 2);
  is(schedule.items[4], 2, 4, 5003, 5005, -1);
  ASSERT_EQ(schedule.split_rows.size(), 1u);
  EXPECT_EQ(schedule.split_rows[0].row, 1);
  EXPECT_EQ(schedule.split_rows[0].num_partials, 3);
  EXPECT_EQ(schedule.num_partials, 3);
}

TEST(RowSchedule, TakesOnlyTheRowsAsked) {
  const std::vector<std::int64_t> offsets{0, 2, 4, 6, 8};
  const std::vector<std::int32_t> indices(8, 0);
  const std::vector<RowRange> some{{0, 1}, {3, 4}};
  const RowSchedule schedule = make_row_schedule(CompressedView{offsets, indices, {}}, some);
  ASSERT_EQ(schedule.items.size(), 2u);
  EXPECT_EQ(schedule.items[1].row_begin, 3);
  EXPECT_EQ(schedule.items[1].edge_begin, 6);
}

TEST(RowSchedule, HasEveryEdgeOnce) {
  for (const Graph& graph : test::planned_graphs()) {
    const RowSchedule schedule = make_row_schedule(graph.csc(), {.item_edges = 20, .split_edges = 7});
    std::int64_t edge = 0;
    for (const AttentionRowItem& item : schedule.items) {
      EXPECT_EQ(item.edge_begin, edge);
      edge = item.edge_end;
    }
    EXPECT_EQ(edge, graph.num_edges());
  }
}

}  // namespace
}  // namespace bough
