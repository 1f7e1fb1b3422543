#pragma once

#include <array>
#include <cstdint>

/// The sizes of a tile, from which the planner and the kernels of every backend follow.
namespace bough {

/// Destinations of a tile: one vector of AVX-512 floats holds a number for each.
inline constexpr int tile_lanes = 16;

/// The low lane group is the first half of the lanes, the high lane group the other half: a column may have a source
/// and a relation for each.
inline constexpr int lane_groups = 2;
inline constexpr int lane_group_size = tile_lanes / lane_groups;

/// The lanes of a tile, or some of them, as bits.
using LaneMask = std::uint16_t;
static_assert(sizeof(LaneMask) * 8 == tile_lanes);
inline constexpr std::array<LaneMask, lane_groups> lane_group_masks = {
    (1u << lane_group_size) - 1, ((1u << lane_group_size) - 1) << lane_group_size};

/// A quad is four neighbouring lanes. Weighted sums of a quad are computed together, over the columns that it uses; on
/// a GPU a warp takes a quad.
inline constexpr int quad_lanes = 4;
inline constexpr int quads = tile_lanes / quad_lanes;
/// The lanes of the first quad, as bits.
inline constexpr unsigned quad_mask = (1u << quad_lanes) - 1;

/// Kernels of the CPU multiply this many columns at once, or a multiple of it: lists of columns are filled up to it.
inline constexpr int column_multiple = 4;

}  // namespace bough
