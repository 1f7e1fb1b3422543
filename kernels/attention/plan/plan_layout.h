#pragma once

#include <span>

#include "kernels/attention/plan/attention_plan.h"
#include "kernels/attention/plan/tile_draft.h"
#include "kernels/attention/plan/tile_relations.h"

namespace bough {

/// A tile with everything that depends on itself only.
struct PlannedTile {
  DraftTile draft;
  TileColumns columns;
  TileRelations relations;  ///< empty without relations
};

/// Second half of planning: arranges tiles, which come in the order of their keys, in ranges, windows and strands.
void lay_out_tiles(std::span<const PlannedTile> tiles, std::int64_t num_src, std::int64_t num_dst,
                   const AttentionPlanOptions& options, AttentionPlan& plan);

}  // namespace bough
