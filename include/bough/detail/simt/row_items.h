#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/detail/mp/split_rows.h"

/// How the rows of a graph are shared out among warps.
namespace bough::simt {

/// What one warp takes: a row, or a split of one that has very many edges.
struct alignas(16) RowItem {
  std::int64_t begin = 0, end = 0;  ///< edges, as positions of the compressed view
  std::int32_t row = 0;
  std::int32_t partial = -1;  ///< number of the split; -1 for a whole row
};

/// A row that was split, and the numbers of its splits.
struct alignas(16) SplitRowItem {
  std::int32_t row = 0;
  std::int32_t first_partial = 0, num_partials = 0;
};

/// Depends on the edges only, so that partial results merged in the order of the splits are always the same.
struct RowItems {
  std::vector<RowItem> items;  ///< splits first, because they are the longest
  std::vector<SplitRowItem> split_rows;
  std::int64_t num_partials = 0;
};

/// Rows with more than this many edges are split.
inline constexpr std::int64_t default_split_edges = split_rows::gpu_edges;

/// O(rows + splits). offsets has one entry more than there are rows; rows that are marked as `skipped`, if that is
/// not empty, are left out.
RowItems make_row_items(std::span<const std::int64_t> offsets, std::int64_t split_edges = default_split_edges,
                        std::span<const std::uint8_t> skipped = {});

/// The same where kernels can read it.
struct RowItemView {
  const RowItem* items = nullptr;
  std::int64_t num_items = 0;
  const SplitRowItem* split_rows = nullptr;
  std::int64_t num_split_rows = 0;
  std::int64_t num_partials = 0;
};

/// The edges of each row where kernels can read them.
struct EdgeView {
  const std::int64_t* offsets = nullptr;
  const std::int32_t* neighbours = nullptr;
  const std::int32_t* edge_ids = nullptr;
  const std::int32_t* types = nullptr;  ///< by edge id; null without types
};

}  // namespace bough::simt
