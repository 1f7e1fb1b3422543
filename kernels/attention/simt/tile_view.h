#pragma once

#include <cstdint>

#include "bough/core/bfloat16.h"
#include "bough/detail/host_device.h"
#include "bough/detail/simt/row_items.h"
#include "kernels/attention/tile_size.h"

/// The tiles of a graph's plan in the form in which blocks of threads take them, where kernels can read them.
///
/// A block takes one tile and one head, and goes through the tile's columns in steps. The relations of a step are
/// listed where its columns have several (then every edge has a place in the step's list), or stand beside the column
/// that has one.
namespace bough::simt {

/// Wider keys and values are left to the row kernel: those of double would not fit into shared memory in backward.
template <typename T>
inline constexpr std::int64_t most_tile_features = sizeof(AccumType<T>) == sizeof(float) ? 128 : 32;
/// A lane of a warp for each column of a step.
inline constexpr int step_columns = 32;
/// Neighbouring columns with neighbouring relations need 32 + 15 of them; steps end early where they need more.
inline constexpr int step_relations = 64;

/// Where the relations of a quad's edges with one column stand in a step's list, all lanes in one integer.
using RelationPlaces = std::uint32_t;
inline constexpr int relation_place_bits = 8 * sizeof(RelationPlaces) / quad_lanes;
/// The place of a lane without a listed relation: all bits set.
inline constexpr RelationPlaces no_relation_place = (RelationPlaces{1} << relation_place_bits) - 1;
inline constexpr RelationPlaces no_relation_places = ~RelationPlaces{0};
static_assert(step_relations <= no_relation_place);

/// That of the quad's lane i.
BOUGH_HOST_DEVICE constexpr RelationPlaces place_of_lane(RelationPlaces places, int i) {
  return places >> relation_place_bits * i & no_relation_place;
}

struct alignas(16) TileHeader {
  std::int32_t num_lanes = 0;
  std::int32_t step_begin = 0, step_end = 0;
  std::int32_t first_column = 0;  ///< of all its steps
};

struct alignas(16) TileStep {
  std::int32_t column_begin = 0, num_columns = 0;
  std::int32_t relation_begin = 0, num_relations = 0;
};

struct alignas(16) TileColumn {
  std::int32_t source = 0;
  std::int32_t relation = -1;  ///< if all its edges have one
  std::uint32_t mask = 0;      ///< lanes that have an edge
  std::uint32_t unused = 0;
};

/// Consecutive tiles whose gradients of sources are held in memory together.
struct TileBatch {
  std::int32_t tile_begin = 0, tile_end = 0;
  std::int32_t column_begin = 0, column_end = 0;
  std::int32_t relation_begin = 0, relation_end = 0;
};

struct TileView {
  const TileHeader* tiles = nullptr;
  std::int64_t num_tiles = 0;
  const std::int32_t* lane_rows = nullptr;      ///< [tiles, 16]; -1 for unused lanes
  const std::int32_t* lane_partials = nullptr;  ///< [tiles, 16]; -1 for rows that the tile has all edges of
  const TileStep* steps = nullptr;
  const TileColumn* columns = nullptr;
  const std::int32_t* relations = nullptr;  ///< of all steps
  /// Those of column c and quad q of a step stand at quads * column_begin + q * num_columns + c. Null without
  /// relations.
  const RelationPlaces* relation_places = nullptr;
  /// Split rows: rows that several tiles have parts of.
  RowItemView split_rows;
};

/// Vectors that belong to one row of a gradient: order[begin] .. order[end - 1] of each item.
struct PartView {
  const std::int32_t* order = nullptr;
  RowItemView rows;
};

/// What is done with the gradients of a batch of tiles.
struct TileBatchView {
  TileBatch batch;
  PartView columns_by_source, columns_by_relation, relations_by_relation;
};

}  // namespace bough::simt
