#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/kernels/attention/planner_cases.h"

/// Which rows form tiles: facts of rows, row tiles, row offset, segment tiles.
namespace bough {
namespace {

using test::graph_of_rows;
using test::numbers;
using test::pattern;
using test::Rows;
using testing::ElementsAre;

TEST(RowFacts, KnowParallelEdgesAndRowsOfOneRelation) {
  const Graph graph = graph_of_rows({{0, 1}, {2, 2}, {}, {3}}, {{5, 5}, {1, 2}, {}, {4}});
  const RowFacts facts = row_facts(graph.csc(), graph.edge_types());
  EXPECT_THAT(facts.parallel_edges, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(facts.one_relation, ElementsAre(1, 0, 1, 1));
  EXPECT_TRUE(row_facts(graph.csc(), {}).one_relation.empty());
}

TEST(TileRows, LeaveOutRowsWithoutEdgesAndWithParallelOnes) {
  const Graph graph = graph_of_rows({{0, 1, 2}, {4, 4}, {1, 2, 3}, {}, {1, 2, 3}, {7}},
                                    {{1, 1, 1}, {1, 1}, {1, 2, 1}, {}, {3, 3, 3}, {1}});
  const CscView edges = graph.csc();
  const TileRows rows = tile_rows(edges, graph.num_src(), row_facts(edges, graph.edge_types()));
  EXPECT_THAT(rows.rows, ElementsAre(0, 2, 4, 5));
  EXPECT_THAT(std::vector(rows.fresh.begin() + 1, rows.fresh.end()), ElementsAre(1, 0, 1));
  EXPECT_THAT(rows.several_relations, ElementsAre(0, 1, 0, 0));
}

/// What rows cost in tiles of the given lengths, where a length of 0 leaves one row out.
double cost_of_cuts(const CscView& edges, const TileRows& rows, const TileCosts& costs,
                    const std::vector<std::int64_t>& lengths) {
  double cost = 0;
  std::size_t row = 0;
  for (const std::int64_t length : lengths) {
    if (length == 0) {
      cost += costs.of_left_rows(1, edges.degree(rows.rows[row++]));
      continue;
    }
    std::int64_t columns = edges.degree(rows.rows[row]), tile_edges = 0;
    for (std::int64_t i = 0; i < length; ++i, ++row) {
      tile_edges += edges.degree(rows.rows[row]);
      if (i > 0) columns += rows.fresh[row];
    }
    cost += costs.of_tile(columns, tile_edges);
  }
  return cost;
}

/// The lowest cost of all ways to cut the rows.
double cheapest(const CscView& edges, const TileRows& rows, const TileCosts& costs, std::vector<std::int64_t>& lengths,
                std::size_t done) {
  if (done == rows.rows.size()) return cost_of_cuts(edges, rows, costs, lengths);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t length = 0; done + std::max<std::size_t>(1, length) <= rows.rows.size(); ++length) {
    lengths.push_back(static_cast<std::int64_t>(length));
    best = std::min(best, cheapest(edges, rows, costs, lengths, done + std::max<std::size_t>(1, length)));
    lengths.pop_back();
  }
  return best;
}

TEST(DraftRowTiles, FindTheCheapestOfAllCuts) {
  TileCosts costs;
  // So that tiny graphs have several tiles and rows outside of them.
  costs.tile = 50;
  costs.left_row = 400;
  bool some_left = false, several_tiles = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const RandomStream random{seed, 7};
    Rows sources(8);
    for (std::int32_t row = 0; row < 8; ++row) {
      // Odd seeds: one row has sources of its own, so that it is better left out between two tiles.
      const std::int32_t first = seed % 2 == 1 && row == 3 ? 50 : 0;
      for (std::int32_t source = 0; source < 12; ++source) {
        if (random.block(static_cast<std::uint64_t>(row * 12 + source))[0] % 10 < 3 + seed % 8) {
          sources[static_cast<std::size_t>(row)].push_back(first + source);
        }
      }
    }
    const Graph graph = graph_of_rows(sources);
    const CscView edges = graph.csc();
    const TileRows rows = tile_rows(edges, graph.num_src(), row_facts(edges, {}));
    std::vector<std::int64_t> lengths;
    std::size_t row = 0;
    for (const DraftTile& tile : draft_row_tiles(edges, graph.num_src(), rows, costs)) {
      for (; rows.rows[row] != tile.rows[0]; ++row) lengths.push_back(0);
      lengths.push_back(tile.num_lanes);
      row += static_cast<std::size_t>(tile.num_lanes);
    }
    several_tiles |= std::ranges::count_if(lengths, [](std::int64_t length) { return length > 0; }) > 1;
    for (; row < rows.rows.size(); ++row) lengths.push_back(0);
    some_left |= std::ranges::count(lengths, 0) > 0;
    std::vector<std::int64_t> none;
    EXPECT_DOUBLE_EQ(cost_of_cuts(edges, rows, costs, lengths), cheapest(edges, rows, costs, none, 0)) << seed;
  }
  EXPECT_TRUE(some_left);
  EXPECT_TRUE(several_tiles);
}

TEST(DraftRowTiles, HaveWholeNeighbouringRowsInOrder) {
  for (const Graph& graph : test::planned_graphs()) {
    std::int32_t last = -1;
    for (const DraftTile& tile : test::row_tiles_of(graph)) {
      EXPECT_FALSE(tile.segment);
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(tile.num_lanes); ++lane) {
        const auto row = static_cast<std::size_t>(tile.rows[lane]);
        EXPECT_GT(tile.rows[lane], last);
        last = tile.rows[lane];
        EXPECT_EQ(tile.edge_begin[lane], graph.csc().offsets[row]);
        EXPECT_EQ(tile.edge_end[lane], graph.csc().offsets[row + 1]);
      }
    }
  }
}

TEST(DraftRowTiles, BeginFullTilesAtTheRowOffset) {
  // Rows with the same sources: without an offset tiles are full from the first row on.
  Rows sources(48, numbers(0, 20)), types(48, numbers(0, 20));
  const Graph graph = graph_of_rows(sources, types);
  const CscView edges = graph.csc();
  const TileRows rows = tile_rows(edges, graph.num_src(), row_facts(edges, graph.edge_types()));
  const auto first_rows = [&](const TileRowOffset& offset) {
    std::vector<std::int32_t> firsts;
    for (const DraftTile& tile : draft_row_tiles(edges, graph.num_src(), rows, TileCosts{}, offset)) {
      if (tile.num_lanes == tile_lanes) firsts.push_back(tile.rows[0]);
    }
    return firsts;
  };
  EXPECT_THAT(first_rows({}), ElementsAre(0, 16, 32));
  EXPECT_THAT(first_rows({.row = 5, .saving = 5000}), ElementsAre(5, 21));
}

TEST(RowOffset, SavesOnPartitionGraphsWhereTilesNeedTheFewestRelations) {
  const Graph graph = pattern("bpt", {{"k", 4}, {"alignment", "slot"}}, 2048);
  const CscView edges = graph.csc();
  const std::vector<DraftTile> drafts = test::row_tiles_of(graph);
  const TileCosts costs;
  const TileRowOffset offset = find_row_offset(edges, graph.num_src(), graph.edge_types(), drafts, costs);
  EXPECT_GT(offset.saving, 0);
  // Full tiles of tokens from the middle of the sequence, one after the other at each offset.
  std::int32_t middle = 0;
  for (const DraftTile& tile : drafts) {
    if (tile.num_lanes == tile_lanes && tile.rows[0] < 1024) middle = std::max(middle, tile.rows[0] / 16 * 16);
  }
  std::vector<double> cost(tile_lanes, 0);
  for (std::int32_t row = middle - 256; row < middle; ++row) {
    const DraftTile tile = test::tile_of_rows(graph, numbers(row, row + tile_lanes));
    cost[static_cast<std::size_t>(row % tile_lanes)] +=
        tile_cost(costs, tile, test::columns_of(graph, tile), test::relations_of(graph, tile));
  }
  EXPECT_EQ(std::ranges::min_element(cost) - cost.begin(), offset.row);
}

TEST(RowOffset, SavesNothingWhereThereAreFewTiles) {
  const Graph graph = pattern("bpt", {{"k", 4}}, 100);
  const std::vector<DraftTile> drafts = test::row_tiles_of(graph);
  EXPECT_EQ(find_row_offset(graph.csc(), graph.num_src(), graph.edge_types(), drafts, TileCosts{}).saving, 0);
}

std::vector<DraftTile> segment_tiles_of(const Graph& graph, bool relations = false,
                                        std::span<const std::uint8_t> tiled = {}) {
  const CscView edges = graph.csc();
  const std::vector<std::uint8_t> none(static_cast<std::size_t>(graph.num_dst()), 0);
  const auto types = relations ? graph.edge_types() : std::span<const std::int32_t>();
  return draft_segment_tiles(edges, row_facts(edges, types), tiled.empty() ? std::span(none) : tiled, TileCosts{});
}

TEST(SegmentTiles, CollectRowsFarApartThatShareABlockOfSources) {
  Rows sources(200);
  for (std::size_t i = 0; i < 16; ++i) sources[10 * i + 7] = numbers(0, 32);
  const std::vector<DraftTile> tiles = segment_tiles_of(graph_of_rows(sources));
  ASSERT_EQ(tiles.size(), 1u);
  EXPECT_TRUE(tiles[0].segment);
  EXPECT_EQ(tiles[0].num_lanes, 16);
  EXPECT_EQ(tiles[0].key, 0);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(tiles[0].rows[i], static_cast<std::int32_t>(10 * i + 7));
}

TEST(SegmentTiles, SplitRowsAtBlocksOfSources) {
  Rows sources(200);
  for (std::size_t i = 0; i < 16; ++i) sources[10 * i + 7] = numbers(40, 90);  // blocks 32..63 and 64..95
  const std::vector<DraftTile> tiles = segment_tiles_of(graph_of_rows(sources));
  ASSERT_EQ(tiles.size(), 2u);
  EXPECT_EQ(tiles[0].key, 32);
  EXPECT_EQ(tiles[0].num_edges(), 16 * 24);
  EXPECT_EQ(tiles[1].key, 64);
  EXPECT_EQ(tiles[1].num_edges(), 16 * 26);
}

TEST(SegmentTiles, LeaveOutRowsThatAreTiledScatteredOrOfSeveralRelations) {
  Rows sources(200), types(200);
  std::vector<std::uint8_t> tiled(200, 0);
  for (std::size_t i = 0; i < 16; ++i) {
    sources[10 * i + 7] = numbers(0, 32);
    types[10 * i + 7] = std::vector<std::int32_t>(32, 1);
  }
  tiled[7] = 1;
  types[17][3] = 2;
  sources[18] = {0, 40, 80, 120, 160};
  types[18] = {1, 1, 1, 1, 1};
  const std::vector<DraftTile> tiles = segment_tiles_of(graph_of_rows(sources, types), true, tiled);
  ASSERT_EQ(tiles.size(), 1u);
  EXPECT_EQ(tiles[0].num_lanes, 14);
  EXPECT_EQ(tiles[0].rows[0], 27);
}

TEST(SegmentTiles, TakeRowsWithAllTheirEdgesOrNotAtAll) {
  bool any = false;
  for (const Graph& graph : test::planned_graphs()) {
    std::map<std::int32_t, std::int64_t> edges;
    for (const DraftTile& tile : segment_tiles_of(graph)) {
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(tile.num_lanes); ++lane) {
        edges[tile.rows[lane]] += tile.edge_end[lane] - tile.edge_begin[lane];
        for (std::int64_t e = tile.edge_begin[lane]; e < tile.edge_end[lane]; ++e) {
          EXPECT_EQ(graph.csc().indices[static_cast<std::size_t>(e)] / 32, tile.key / 32);
        }
      }
    }
    for (const auto& [row, count] : edges) EXPECT_EQ(count, graph.csc().degree(row));
    any |= !edges.empty();
  }
  EXPECT_TRUE(any);
}

}  // namespace
}  // namespace bough
