#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/core/parallel.h"
#include "bough/graph/graph.h"

namespace bough {

/// GraphError unless every node is in 0..count-1.
void require_nodes(const char* where, std::span<const std::int32_t> nodes, std::int64_t count);

/// The edge at a position of a view whose ids may be implied.
inline std::int32_t edge_at(const CompressedView& view, std::int64_t position) {
  return view.in_edge_order ? static_cast<std::int32_t>(position) : view.edge_ids[static_cast<std::size_t>(position)];
}

/// Where the edges of each of the rows begin if they are put one after the other, and the end.
std::vector<std::int64_t> row_offsets(const CompressedView& view, std::span<const std::int32_t> rows);

/// body(row, from, count, to) in parallel for each of the rows: its edges are at positions from .. from+count-1 of the
/// view and go to positions to .. to+count-1, with offsets as row_offsets gives them.
template <typename Body>
void for_each_row(const CompressedView& view, std::span<const std::int32_t> rows, std::span<const std::int64_t> offsets,
                  Body&& body) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t degree = offsets.back() / std::max<std::int64_t>(1, count) + 1;
  parallel_chunks(count, rows_per_chunk(degree), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int32_t row = rows[static_cast<std::size_t>(i)];
      const std::int64_t to = offsets[static_cast<std::size_t>(i)];
      body(row, view.offsets[static_cast<std::size_t>(row)], offsets[static_cast<std::size_t>(i) + 1] - to, to);
    }
  });
}

/// 0, 1, ..., count-1.
IdArray identity_ids(std::int64_t count);

/// ids[selection[i]] for each i; empty for empty ids.
IdArray gather(std::span<const std::int32_t> ids, std::span<const std::int32_t> selection);

}  // namespace bough
