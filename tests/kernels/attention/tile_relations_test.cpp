#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/attention/planner_cases.h"

/// One tile: its columns, its relations, pairs of columns, and the dictionary of relation runs.
namespace bough {
namespace {

using test::columns_of;
using test::graph_of_rows;
using test::numbers;
using test::relations_of;
using test::Rows;
using test::tile_of_rows;
using testing::ElementsAre;

using Pair = std::array<std::int32_t, lane_groups>;

TEST(TileColumns, AreTheUnionOfTheSourcesWithTheirLanes) {
  const Graph graph = graph_of_rows({{0, 2}, {2, 3}, {9}});
  std::vector<LaneMask> lanes_of(static_cast<std::size_t>(graph.num_src()), 0);
  const TileColumns columns = tile_columns(graph.csc(), tile_of_rows(graph, {0, 1}), lanes_of);
  EXPECT_THAT(columns.sources, ElementsAre(0, 2, 3));
  EXPECT_THAT(columns.masks, ElementsAre(1, 3, 2));
  EXPECT_THAT(lanes_of, testing::Each(0)) << "the memory is used for the next tile";
}

/// The relation of an edge as the tile tells it.
std::int32_t relation_at(const TileRelations& relations, std::int32_t column, std::int32_t lane) {
  const std::int32_t folded =
      relations.column_relations[static_cast<std::size_t>(column)][static_cast<std::size_t>(lane / lane_group_size)];
  if (folded >= 0) return folded;
  for (const TileRelations::MixedColumns& mixed : relations.mixed_columns) {
    if (column < mixed.column_begin || column >= mixed.column_end) continue;
    const TileRelations::Lane& of_lane = relations.lanes[static_cast<std::size_t>(mixed.lanes + lane)];
    return relations.runs[static_cast<std::size_t>(of_lane.run)]
                         [static_cast<std::size_t>(column - mixed.column_begin + of_lane.shift)];
  }
  return -1;
}

TEST(TileRelations, FoldColumnsOfOneRelation) {
  const Graph graph = graph_of_rows(Rows(16, numbers(0, 5)), Rows(16, {3, 1, 4, 1, 5}));
  const TileRelations relations = relations_of(graph, tile_of_rows(graph, numbers(0, 16)));
  EXPECT_THAT(relations.column_relations, ElementsAre(Pair{3, 3}, Pair{1, 1}, Pair{4, 4}, Pair{1, 1}, Pair{5, 5}));
  EXPECT_TRUE(relations.mixed_columns.empty());
  EXPECT_TRUE(relations.runs.empty());
}

TEST(TileRelations, FoldColumnsWithOneRelationForEachLaneGroup) {
  Rows types(16, {1, 2, 3, 4});
  for (std::size_t row = lane_group_size; row < tile_lanes; ++row) types[row] = {5, 6, 7, 8};
  const Graph graph = graph_of_rows(Rows(16, numbers(0, 4)), types);
  const TileRelations relations = relations_of(graph, tile_of_rows(graph, numbers(0, 16)));
  EXPECT_THAT(relations.column_relations, ElementsAre(Pair{1, 5}, Pair{2, 6}, Pair{3, 7}, Pair{4, 8}));
  EXPECT_TRUE(relations.mixed_columns.empty());
}

/// 16 rows that see the five sources from their own number on; the relation of an edge is its distance.
Graph window_with_distances() {
  Rows sources, types;
  for (std::int32_t row = 0; row < 16; ++row) {
    sources.push_back(numbers(row, row + 5));
    types.push_back(numbers(0, 5));
  }
  return graph_of_rows(sources, types);
}

TEST(TileRelations, HaveOneRunWhereRelationsAreDistances) {
  const Graph graph = window_with_distances();
  const TileRelations relations = relations_of(graph, tile_of_rows(graph, numbers(0, 16)));
  ASSERT_EQ(relations.mixed_columns.size(), 1u);
  EXPECT_EQ(relations.mixed_columns[0].column_begin, 0);
  EXPECT_EQ(relations.mixed_columns[0].column_end, 20);
  EXPECT_THAT(relations.runs, ElementsAre(ElementsAre(0, 1, 2, 3, 4)));
  for (std::size_t lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(relations.lanes[lane].run, 0);
    EXPECT_EQ(relations.lanes[lane].shift, -static_cast<std::int32_t>(lane));
  }
}

TEST(TileRelations, FindRunsInsideLongerOnes) {
  // Row 1 has a part of what row 0 has, with a gap; row 2 has something else.
  const Graph graph = graph_of_rows({{0, 1, 2, 3}, {1, 3}, {0, 1, 2, 3}}, {{7, 8, 9, 6}, {8, 6}, {1, 1, 2, 2}});
  const TileRelations relations = relations_of(graph, tile_of_rows(graph, {0, 1, 2}));
  EXPECT_THAT(relations.runs, ElementsAre(ElementsAre(7, 8, 9, 6), ElementsAre(1, 1, 2, 2)));
  EXPECT_EQ(relations.lanes[0].run, relations.lanes[1].run);
  EXPECT_EQ(relations.lanes[1].shift, 0);
  EXPECT_EQ(relations.lanes[3].run, -1) << "there is no fourth lane";
}

TEST(TileRelations, TellTheRelationOfEveryEdge) {
  for (const Graph& graph : test::planned_graphs()) {
    if (graph.edge_types().empty()) continue;
    const CscView edges = graph.csc();
    for (const bool fold : {true, false}) {
      for (const DraftTile& tile : test::row_tiles_of(graph)) {
        const TileColumns columns = columns_of(graph, tile);
        const TileRelations relations =
            tile_relations(edges, graph.edge_types(), tile, columns, {.fold_relations = fold});
        for (std::int32_t lane = 0; lane < tile.num_lanes; ++lane) {
          for (std::int64_t e = tile.edge_begin[static_cast<std::size_t>(lane)];
               e < tile.edge_end[static_cast<std::size_t>(lane)]; ++e) {
            const auto column = std::ranges::lower_bound(columns.sources, edges.indices[static_cast<std::size_t>(e)]) -
                                columns.sources.begin();
            const std::int32_t id = edges.edge_ids[static_cast<std::size_t>(e)];
            ASSERT_EQ(relation_at(relations, static_cast<std::int32_t>(column), lane),
                      graph.edge_types()[static_cast<std::size_t>(id)]);
          }
        }
      }
    }
  }
}

TEST(TileCost, CountsRunsAndFoldedPairs) {
  TileCosts costs;
  const Graph window = window_with_distances();
  const DraftTile tile = tile_of_rows(window, numbers(0, 16));
  const TileColumns columns = columns_of(window, tile);
  // 20 columns: the low lane group alone has 8 of them, the high one 8, which make 8 pairs.
  EXPECT_EQ(tile_cost(costs, tile, columns, relations_of(window, tile)),
            costs.of_tile(20 - 8, 80) + costs.of_relations(5, 0));
  EXPECT_EQ(tile_cost(costs, tile, columns, relations_of(window, tile), {.pair_lane_groups = false}),
            costs.of_tile(20, 80) + costs.of_relations(5, 0));
  EXPECT_EQ(tile_cost(costs, tile, columns, relations_of(window, tile), {.relation_runs = false}),
            std::numeric_limits<double>::infinity());
}

TEST(ColumnPairs, PairColumnsOfTheLowLaneGroupWithThoseOfTheHighOne) {
  const TileColumns columns{{3, 4, 5, 6}, {0x0001, 0x0101, 0x8000, 0x0010}};
  const ColumnPairs pairs = pair_columns(columns, {}, 0, 4);
  EXPECT_THAT(pairs.columns, ElementsAre(Pair{1, 1}, Pair{3, 3}, Pair{0, 2}));
  EXPECT_EQ(pairs.paired_begin, 2);
  EXPECT_EQ(pairs.paired_end, 3);
  EXPECT_EQ(pairs.fold_begin, 3);
}

TEST(ColumnPairs, StayAloneWhenAskedTo) {
  const TileColumns columns{{3, 4, 5}, {0x0001, 0x0101, 0x8000}};
  const ColumnPairs pairs = pair_columns(columns, {}, 0, 3, {.pair_lane_groups = false});
  EXPECT_THAT(pairs.columns, ElementsAre(Pair{0, 0}, Pair{1, 1}, Pair{2, 2}));
  EXPECT_EQ(pairs.paired_begin, pairs.paired_end);
}

TEST(ColumnPairs, TakeOnlyTheColumnsAsked) {
  const TileColumns columns{{3, 4, 5, 6}, {0x0001, 0x0101, 0x8000, 0x0010}};
  EXPECT_THAT(pair_columns(columns, {}, 2, 4).columns, ElementsAre(Pair{3, 2}));
}

TEST(ColumnPairs, DoNotMixFoldedWithMixedColumns) {
  const TileColumns columns{{0, 1, 2, 3}, {0x0001, 0x8000, 0x0002, 0x4000}};
  TileRelations relations;
  relations.mixed_columns = {{0, 1, 0}, {3, 4, 16}};
  relations.column_relations = {{-1, -1}, {5, 5}, {6, 6}, {-1, -1}};
  const ColumnPairs pairs = pair_columns(columns, relations, 0, 4);
  EXPECT_THAT(pairs.columns, ElementsAre(Pair{0, 3}, Pair{2, 1}));
  EXPECT_EQ(pairs.paired_begin, 0);
  EXPECT_EQ(pairs.fold_begin, 1);
  EXPECT_EQ(pairs.paired_end, 2);
}

TEST(ColumnPairs, PutFoldedColumnsWithTwoRelationsAmongPairs) {
  const TileColumns columns{{0, 1}, {0xffff, 0xffff}};
  TileRelations relations;
  relations.column_relations = {{4, 4}, {5, 6}};
  const ColumnPairs pairs = pair_columns(columns, relations, 0, 2);
  EXPECT_THAT(pairs.columns, ElementsAre(Pair{1, 1}, Pair{0, 0}));
  EXPECT_EQ(pairs.fold_begin, 0);
  EXPECT_EQ(pairs.paired_begin, 0);
  EXPECT_EQ(pairs.paired_end, 1);
}

TEST(RelationDictionary, WritesRunsOnceAndFindsParts) {
  RelationDictionary dictionary;
  dictionary.add({{1, 2, 3}, {2, 3}});
  dictionary.add({{1, 2, 3}, {9}});
  std::vector<std::int32_t> expected{1, 2, 3, 9};
  expected.resize(AttentionPlan::dictionary_block, 0);
  EXPECT_EQ(dictionary.relations(), expected);
  const RelationDictionary::Part part = dictionary.part({{2, 3}, {9}});
  EXPECT_THAT(part.blocks, ElementsAre(0));
  EXPECT_THAT(part.places, ElementsAre(1, 3));
}

TEST(RelationDictionary, GivesEachTileTheBlocksOfItsRuns) {
  RelationDictionary dictionary;
  dictionary.add({numbers(0, 40), numbers(100, 105)});
  EXPECT_EQ(dictionary.relations().size(), 48u);
  const RelationDictionary::Part first = dictionary.part({numbers(0, 40)});
  EXPECT_THAT(first.blocks, ElementsAre(0, 1, 2));
  EXPECT_THAT(first.places, ElementsAre(0));
  // Places count in the tile's own blocks: 40 stands in block 2, which is the tile's only one.
  const RelationDictionary::Part second = dictionary.part({numbers(100, 105)});
  EXPECT_THAT(second.blocks, ElementsAre(2));
  EXPECT_THAT(second.places, ElementsAre(8));
}

TEST(RelationDictionary, OfNoRunsIsEmpty) {
  const RelationDictionary dictionary;
  EXPECT_TRUE(dictionary.relations().empty());
  EXPECT_TRUE(dictionary.part({}).blocks.empty());
}

}  // namespace
}  // namespace bough
