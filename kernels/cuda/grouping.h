#pragma once

#include <cstdint>

#include "kernels/backend.h"

/// Sorting on a GPU; all arrays are in its memory. See kernels/thrust/grouping.h.
namespace bough {

/// Edges grouped by row, then by neighbour: offsets [num_rows + 1], indices and edge_ids [edges].
void compress_edges(Cuda, const std::int32_t* rows, const std::int32_t* neighbours, std::int64_t edges,
                    std::int64_t num_rows, std::int64_t* offsets, std::int32_t* indices, std::int32_t* edge_ids);

/// An index sorted by row: order [count], offsets [num_rows + 1]. Index: int32 and int64.
template <typename Index>
void group_rows(Cuda, const Index* index, std::int64_t count, std::int64_t num_rows, std::int32_t* order,
                std::int64_t* offsets);

}  // namespace bough
