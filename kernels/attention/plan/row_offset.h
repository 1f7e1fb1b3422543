#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention/plan/attention_plan.h"
#include "kernels/attention/plan/tile_draft.h"

namespace bough {

/// Looks for the rows where full tiles should begin, from a few of the drafted tiles moved by 0 to 15 rows. Rows of a
/// partition graph whose relations differ by the same steps lie between certain rows: a tile of such rows needs half as
/// many products of queries with relations, or fewer, as one that crosses such a row. Costs as much as planning up to
/// 64 tiles; no saving if there are few tiles.
TilePhase find_phase(const CscView& edges, std::int64_t num_src, std::span<const std::int32_t> edge_types,
                     std::span<const DraftTile> drafts, const TileCosts& costs,
                     const AttentionPlanOptions& options = {});

}  // namespace bough
