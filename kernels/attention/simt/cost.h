#pragma once

#include <cstdint>
#include <iterator>

#include "kernels/attention/simt/tile_plan.h"

/// What the kernels of graph attention move and compute, for float or bfloat16 and widths up to 64 (other widths share
/// out lanes differently). Tests hold the kernels to it on the emulator; bough bench attention --gpu bounds times by
/// it.
namespace bough::simt {

struct AttentionSize {
  std::int64_t rows = 0, edges = 0;
  std::int64_t heads = 1, width = 64, value_width = 64;
  bool relation_keys = false;
  std::int64_t element_bytes = 4;  ///< 2 for bfloat16
};

struct AttentionCost {
  double load_sectors = 0;   ///< of 32 bytes, as warps ask for them; caches keep many of them from memory
  double store_sectors = 0;  ///< the same
  double operations = 0;     ///< multiplications and additions
  double least_bytes = 0;    ///< every tensor once: what must come from memory and go there
};

/// Sectors of a vector, by default of floats: those of sums that several kernels work on are always.
constexpr double vector_sectors(std::int64_t width, std::int64_t element_bytes = 4) {
  const std::int64_t sectors = (width * element_bytes + 31) / 32;
  return static_cast<double>(sectors);
}
/// Sectors of the key and the value of a tensor.
struct StoredSectors {
  double key = 0, value = 0;

  constexpr explicit StoredSectors(const AttentionSize& size)
      : key(vector_sectors(size.width, size.element_bytes)),
        value(vector_sectors(size.value_width, size.element_bytes)) {}
};

/// A row reads its item and query, an edge its key and value and, with relations, the relation's key. Four edges share
/// a sector of each small number: the neighbour and, with relations, the edge's id and type.
constexpr AttentionCost forward_cost(const AttentionSize& size) {
  const auto [key, value] = StoredSectors(size);
  const double rows = static_cast<double>(size.rows * size.heads), edges = static_cast<double>(size.edges * size.heads);
  const double small = size.relation_keys ? 3 : 1;
  const double features = static_cast<double>(size.width + size.value_width);
  return {.load_sectors = edges * (key + value + (size.relation_keys ? key : 0) + small / 4) + rows * (1 + key),
          .store_sectors = rows * (value + 1),
          .operations = edges * (2 * features + (size.relation_keys ? static_cast<double>(size.width) : 0)),
          .least_bytes = 32 * rows * (2 * key + 2 * value) + 4 * static_cast<double>(size.edges) * small};
}

/// A row reads its item and two vectors, an edge two vectors of its other end and, with relations, the relation's key.
/// Small numbers are those of forward, lse and delta. Without the gradients of tables.
constexpr AttentionCost backward_pass_cost(const AttentionSize& size, double written_vectors) {
  const auto [key, value] = StoredSectors(size);
  const double rows = static_cast<double>(size.rows * size.heads), edges = static_cast<double>(size.edges * size.heads);
  const double small = size.relation_keys ? 5 : 3;
  const double features = static_cast<double>(size.width + size.value_width);
  return {
      .load_sectors = edges * (key + value + (size.relation_keys ? key : 0) + small / 4) + rows * (1 + key + value),
      .store_sectors = rows * written_vectors,
      .operations = edges * (2 * features + (size.relation_keys ? static_cast<double>(size.width) : 0)),
      .least_bytes = 32 * rows * (2 * key + 2 * value + written_vectors) + 4 * static_cast<double>(size.edges) * small};
}
/// Gradients of queries.
constexpr AttentionCost to_destinations_cost(const AttentionSize& size) {
  AttentionCost cost = backward_pass_cost(size, StoredSectors(size).key);
  cost.operations += 2 * static_cast<double>(size.edges * size.heads * size.width);
  return cost;
}
/// Gradients of keys and values.
constexpr AttentionCost to_sources_cost(const AttentionSize& size) {
  AttentionCost cost = backward_pass_cost(size, vector_sectors(size.width) + vector_sectors(size.value_width));
  cost.operations += 2 * static_cast<double>(size.edges * size.heads * (size.width + size.value_width));
  return cost;
}
/// d_out.out of every row.
constexpr AttentionCost delta_cost(const AttentionSize& size) {
  const double rows = static_cast<double>(size.rows * size.heads), value = StoredSectors(size).value;
  return {.load_sectors = rows * 2 * value,
          .store_sectors = rows,
          .operations = rows * 2 * static_cast<double>(size.value_width),
          .least_bytes = 32 * rows * 2 * value};
}

/// What the tiles of a plan count together.
struct TileCounts {
  std::int64_t tiles = 0, steps = 0, columns = 0;
  std::int64_t lanes = 0;             ///< that are used
  std::int64_t related_columns = 0;   ///< whose edges have one relation, which is added to the key
  std::int64_t relation_steps = 0;    ///< that list relations
  std::int64_t listed_relations = 0;  ///< by all steps
  std::int64_t source_sums = 0;       ///< sources of every batch: sums of vectors of columns
  std::int64_t relation_sums = 0;     ///< relations of every batch, by columns and by lists
};

inline TileCounts count_tiles(const AttentionTilePlan& plan) {
  TileCounts counts;
  counts.tiles = std::ssize(plan.tiles);
  counts.steps = std::ssize(plan.steps);
  counts.columns = std::ssize(plan.columns);
  counts.listed_relations = std::ssize(plan.relations);
  for (const TileHeader& tile : plan.tiles) counts.lanes += tile.num_lanes;
  for (const TileColumn& column : plan.columns) counts.related_columns += column.relation >= 0;
  for (const TileStep& step : plan.steps) counts.relation_steps += step.num_relations > 0;
  const auto sums = [](const PartLists& lists) {
    std::int64_t total = 0;
    for (const RowItems& items : lists.batches) total += std::ssize(items.items);
    return total;
  };
  counts.source_sums = sums(plan.columns_by_source);
  counts.relation_sums = sums(plan.columns_by_relation) + sums(plan.relations_by_relation);
  return counts;
}

/// What a block reads to find its way: every warp the tile, its rows, and the steps; of the columns each warp a part.
constexpr double tile_plan_sectors(const TileCounts& counts) {
  return 4.0 * static_cast<double>(counts.tiles) * (1 + 2) + 4.0 * static_cast<double>(counts.steps) +
         static_cast<double>(counts.columns) / 2;
}
/// What relations add, with their vectors `times` from memory: a column's own, and those of lists with the places of
/// edges in them.
constexpr double tile_relation_sectors(const TileCounts& counts, double key, double times) {
  return static_cast<double>(counts.related_columns) * key + static_cast<double>(counts.relation_steps) * 16 +
         static_cast<double>(counts.listed_relations) * times * (key + 0.5);
}

/// A tile reads its queries once, and the key and value of each column. All lanes of a column are computed, whether
/// they have an edge or not. Full steps of 32 columns; the last of a tile may touch a few sectors more.
constexpr AttentionCost tile_forward_cost(const TileCounts& counts, const AttentionSize& size) {
  const auto [key, value] = StoredSectors(size);
  const double heads = static_cast<double>(size.heads), columns = static_cast<double>(counts.columns);
  const double lanes = static_cast<double>(counts.lanes), features = static_cast<double>(size.width + size.value_width);
  const double relations = size.relation_keys ? tile_relation_sectors(counts, key, 1) : 0;
  return {.load_sectors = heads * (tile_plan_sectors(counts) + lanes * key + columns * (key + value) + relations),
          .store_sectors = heads * lanes * (value + 1),
          .operations = heads * tile_lanes *
                        (columns * 2 * features +
                         2 * static_cast<double>(counts.listed_relations) * static_cast<double>(size.width)),
          .least_bytes = 32 * heads * lanes * (2 * key + 2 * value) + 16 * columns};
}

/// A tile reads two vectors a lane, with lse and delta, and two a column, and writes the gradients of a query a
/// lane, of key and value a column and of the relations in lists.
constexpr AttentionCost tile_backward_cost(const TileCounts& counts, const AttentionSize& size) {
  const auto [key, value] = StoredSectors(size);
  const double heads = static_cast<double>(size.heads), columns = static_cast<double>(counts.columns);
  const double lanes = static_cast<double>(counts.lanes), listed = static_cast<double>(counts.listed_relations);
  const double width = static_cast<double>(size.width), value_width = static_cast<double>(size.value_width);
  const double relations = size.relation_keys ? tile_relation_sectors(counts, key, 2) + listed * key / 8 : 0;
  const double sum = vector_sectors(size.width), value_sum = vector_sectors(size.value_width);
  const double written = heads * (lanes * key + columns * (sum + value_sum) + listed * sum);
  return {.load_sectors =
              heads * (tile_plan_sectors(counts) + lanes * (key + value + 2) + columns * (key + value) + relations),
          .store_sectors = written,
          .operations = heads * tile_lanes * (columns * (6 * width + 4 * value_width) + listed * 6 * width),
          .least_bytes = 32 * heads * lanes * (3 * key + 3 * value) + 32 * written + 16 * columns};
}

/// Adds up what tiles have left: every vector is read once, every sum read and written; two sectors a sum say which
/// vectors it has.
constexpr AttentionCost tile_sums_cost(const TileCounts& counts, const AttentionSize& size) {
  const double key = vector_sectors(size.width), value = vector_sectors(size.value_width);
  const double heads = static_cast<double>(size.heads), columns = static_cast<double>(counts.columns);
  const double sources = static_cast<double>(counts.source_sums);
  const double of_relations = size.relation_keys ? static_cast<double>(counts.relation_sums) : 0;
  const double vectors_of_relations =
      size.relation_keys ? static_cast<double>(counts.related_columns + counts.listed_relations) : 0;
  const double read = columns * (key + value) + vectors_of_relations * key;
  const double sums = sources * (key + value) + of_relations * key;
  return {.load_sectors = heads * (read + sums + 2 * 2 * sources + 2 * of_relations),
          .store_sectors = heads * sums,
          .operations = 8 * heads * read,
          .least_bytes = 32 * heads * (read + 2 * sums)};
}

}  // namespace bough::simt
