#include "kernels/attention/simt/tile_plan.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace bough::simt {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
template <typename T>
std::int32_t count(const std::vector<T>& values) {
  return static_cast<std::int32_t>(values.size());
}

/// A column with the places of its relations in the tile's blocks of the dictionary; -1 where there is none.
struct PlacedColumn {
  TileColumn column;
  std::array<std::int32_t, tile_lanes> places;
};

/// The columns of a column block; those with two sources or two relations become two.
std::vector<PlacedColumn> columns_of_block(const AttentionPlan& plan, const AttentionPlan::StagedBlock& staged,
                                           const AttentionPlan::ColumnBlock& block) {
  // Where the relations of each lane stand, column by column.
  std::vector<std::array<std::int32_t, tile_lanes>> places(index(block.num_columns));
  for (auto& of_column : places) of_column.fill(-1);
  for (std::int32_t s = block.mixed_begin; s < block.mixed_end; ++s) {
    const AttentionPlan::MixedColumns& mixed = plan.mixed_columns[index(s)];
    for (std::int32_t c = mixed.column_begin; c < mixed.column_end; ++c) {
      for (std::int32_t lane = 0; lane < tile_lanes; ++lane) {
        places[index(c)][index(lane)] =
            plan.dictionary_places[index(mixed.place_begin + lane)] + c - mixed.column_begin;
      }
    }
  }
  std::vector<PlacedColumn> columns;
  for (std::int32_t c = 0; c < block.num_columns; ++c) {
    const bool paired = c >= block.paired_begin && c < block.paired_end;
    for (std::int32_t group = 0; group < (paired ? lane_groups : 1); ++group) {
      const std::size_t at = index((block.column_begin + c) * lane_groups + group);
      PlacedColumn& laid = columns.emplace_back();
      laid.column.source = plan.staged_sources[index(staged.source_begin + plan.column_rows[at])];
      laid.column.mask = plan.column_masks[index(block.column_begin + c)];
      if (paired) laid.column.mask &= lane_group_masks[index(group)];
      if (plan.with_relations) laid.column.relation = plan.column_relations[at];
      for (std::size_t lane = 0; lane < tile_lanes; ++lane) {
        laid.places[lane] = (laid.column.mask >> lane & 1u) == 0 ? -1 : places[index(c)][lane];
      }
    }
  }
  return columns;
}

/// Puts the column blocks of each tile, which the plan sorts by staged block, together again: neighbours in the order
/// of their sources have neighbouring relations, which a warp reads at once.
std::vector<std::vector<PlacedColumn>> columns_of_tiles(const AttentionPlan& plan) {
  std::vector<std::vector<PlacedColumn>> tiles(plan.tiles.size());
  for (const AttentionPlan::StagedBlock& staged : plan.staged_blocks) {
    for (std::int32_t b = staged.column_block_begin; b < staged.column_block_end; ++b) {
      const AttentionPlan::ColumnBlock& block = plan.column_blocks[index(b)];
      const std::vector<PlacedColumn> columns = columns_of_block(plan, staged, block);
      std::vector<PlacedColumn>& tile = tiles[index(block.tile)];
      tile.insert(tile.end(), columns.begin(), columns.end());
    }
  }
  for (std::vector<PlacedColumn>& tile : tiles) {
    std::ranges::stable_sort(tile, {}, [](const PlacedColumn& laid) { return laid.column.source; });
  }
  return tiles;
}

class TilePlanner {
 public:
  explicit TilePlanner(const AttentionPlan& plan) : plan_(plan) {}

  AttentionTilePlan run(std::int64_t batch_columns) {
    const std::vector<std::vector<PlacedColumn>> tiles = columns_of_tiles(plan_);
    for (const AttentionPlan::WorkItem& item : plan_.work_items) {
      for (std::int32_t t = item.tile_begin; t < item.tile_end; ++t) add_tile(t, item, tiles[index(t)]);
    }
    choose_batches(batch_columns);
    list_parts();
    return std::move(result_);
  }

 private:
  void add_tile(std::int32_t t, const AttentionPlan::WorkItem& item, const std::vector<PlacedColumn>& columns) {
    const AttentionPlan::Tile& tile = plan_.tiles[index(t)];
    TileHeader header{tile.num_lanes, count(result_.steps), 0, count(result_.columns)};
    result_.lane_rows.insert(result_.lane_rows.end(), tile.rows.begin(), tile.rows.end());
    result_.lane_partials.insert(result_.lane_partials.end(), tile.partials.begin(), tile.partials.end());
    std::vector<std::int32_t> places;
    for (std::size_t begin = 0; begin < columns.size();) {
      const std::size_t end = step_end(columns, begin, places);
      add_step(std::span(columns).subspan(begin, end - begin), places);
      for (const std::int32_t place : places) {
        const std::int32_t block =
            plan_.dictionary_blocks[index(tile.dictionary_block_begin + place / AttentionPlan::dictionary_block)];
        result_.relations.push_back(
            plan_.dictionary_relations[index(item.dictionary_begin + block * AttentionPlan::dictionary_block +
                                             place % AttentionPlan::dictionary_block)]);
      }
      begin = end;
    }
    header.step_end = count(result_.steps);
    result_.tiles.push_back(header);
  }

  /// As many columns as a step takes, and the places of the dictionary that they use, ascending.
  static std::size_t step_end(const std::vector<PlacedColumn>& columns, std::size_t begin,
                              std::vector<std::int32_t>& places) {
    places.clear();
    std::size_t end = begin;
    for (; end < columns.size() && end < begin + step_columns; ++end) {
      std::vector<std::int32_t> more = places;
      for (const std::int32_t place : columns[end].places) {
        if (place >= 0) more.push_back(place);
      }
      std::ranges::sort(more);
      more.erase(std::unique(more.begin(), more.end()), more.end());
      if (more.size() > step_relations) break;
      places = std::move(more);
    }
    return end;
  }

  void add_step(std::span<const PlacedColumn> columns, std::span<const std::int32_t> places) {
    const TileStep step{count(result_.columns), static_cast<std::int32_t>(columns.size()), count(result_.relations),
                        static_cast<std::int32_t>(places.size())};
    for (const PlacedColumn& laid : columns) result_.columns.push_back(laid.column);
    result_.steps.push_back(step);
    if (!plan_.with_relations) return;
    for (int quad = 0; quad < quads; ++quad) {
      for (const PlacedColumn& laid : columns) {
        RelationPlaces of_quad = 0;
        for (int i = 0; i < quad_lanes; ++i) {
          const std::int32_t place = laid.places[index(quad_lanes * quad + i)];
          const auto found =
              place < 0 ? no_relation_place
                        : static_cast<RelationPlaces>(std::ranges::lower_bound(places, place) - places.begin());
          of_quad |= found << relation_place_bits * i;
        }
        result_.relation_places.push_back(of_quad);
      }
    }
  }

  void choose_batches(std::int64_t batch_columns) {
    const auto first_relation = [&](std::size_t tile) {
      return tile == result_.tiles.size() ? count(result_.relations)
                                          : result_.steps[index(result_.tiles[tile].step_begin)].relation_begin;
    };
    const auto first_column = [&](std::size_t tile) {
      return tile == result_.tiles.size() ? count(result_.columns) : result_.tiles[tile].first_column;
    };
    for (std::size_t begin = 0; begin < result_.tiles.size();) {
      std::size_t end = begin + 1;
      while (end < result_.tiles.size() && first_column(end + 1) - first_column(begin) <= batch_columns) ++end;
      result_.batches.push_back({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end), first_column(begin),
                                 first_column(end), first_relation(begin), first_relation(end)});
      begin = end;
    }
  }

  /// Entries [begin, end) grouped by row; entries of row -1 are left out.
  template <typename RowOf>
  static void list_batch(std::int32_t begin, std::int32_t end, const RowOf& row_of, PartLists& lists) {
    std::vector<std::int32_t> entries;
    for (std::int32_t entry = begin; entry < end; ++entry) {
      if (row_of(entry) >= 0) entries.push_back(entry);
    }
    std::ranges::stable_sort(entries, {}, row_of);
    const auto first = static_cast<std::int64_t>(lists.order.size());
    std::vector<std::int64_t> offsets;
    std::vector<std::int32_t> rows;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0 && row_of(entries[i]) == rows.back()) continue;
      offsets.push_back(first + static_cast<std::int64_t>(i));
      rows.push_back(row_of(entries[i]));
    }
    offsets.push_back(first + static_cast<std::int64_t>(entries.size()));
    lists.order.insert(lists.order.end(), entries.begin(), entries.end());
    RowItems items = make_row_items(offsets, parts_per_item);
    for (RowItem& item : items.items) item.row = rows[index(item.row)];
    for (SplitRowItem& split : items.split_rows) split.row = rows[index(split.row)];
    lists.batches.push_back(std::move(items));
  }

  void list_parts() {
    for (const TileBatch& batch : result_.batches) {
      const auto source = [&](std::int32_t c) { return result_.columns[index(c)].source; };
      const auto relation = [&](std::int32_t c) { return result_.columns[index(c)].relation; };
      const auto listed = [&](std::int32_t r) { return result_.relations[index(r)]; };
      list_batch(batch.column_begin, batch.column_end, source, result_.columns_by_source);
      if (!plan_.with_relations) continue;
      list_batch(batch.column_begin, batch.column_end, relation, result_.columns_by_relation);
      list_batch(batch.relation_begin, batch.relation_end, listed, result_.relations_by_relation);
    }
  }

  /// A warp adds up so many vectors: few enough that a relation of nearly all edges keeps many warps busy.
  static constexpr std::int64_t parts_per_item = 64;

  const AttentionPlan& plan_;
  AttentionTilePlan result_;
};

}  // namespace

AttentionTilePlan make_attention_tile_plan(const AttentionPlan& plan, std::int64_t batch_columns) {
  return TilePlanner(plan).run(batch_columns);
}

}  // namespace bough::simt
