#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/attention/plan/tile_relations.h"

namespace bough {

/// Columns of a tile in the order and in the pairs in which kernels take them.
struct ColumnPairs {
  /// The tile's column for the first eight lanes and for the others; mostly the same.
  std::vector<std::array<std::int32_t, 2>> columns;
  /// As in AttentionPlan::Piece.
  std::int32_t halves_begin = 0, halves_end = 0, fold_begin = 0;
};

/// Arranges the columns [begin, end) of a tile. Columns that only the first half of the lanes uses are paired with
/// columns that only the other half uses, mixed with mixed and folded with folded ones; of mixed ones first those of
/// one segment, so that consecutive pairs have consecutive columns.
ColumnPairs pair_columns(const TileColumns& columns, const TileRelations& relations, std::int32_t begin,
                         std::int32_t end, const AttentionPlanOptions& options = {});

}  // namespace bough
