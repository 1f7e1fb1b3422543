#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/detail/mp/split_rows.h"
#include "bough/graph/graph.h"

namespace bough {

/// What one task takes at least: some whole rows, or a split of one with very many edges; all of about equal size.
struct AttentionRowItem {
  std::int32_t row_begin = 0, row_end = 0;
  std::int64_t edge_begin = 0, edge_end = 0;  ///< positions in the compressed view
  std::int32_t partial = -1;                  ///< number of the split's partial result; -1 for whole rows
};

/// A split row: the partial results of its splits have the numbers first_partial .. first_partial + num_partials - 1.
struct SplitAttentionRow {
  std::int32_t row = 0;
  std::int32_t first_partial = 0, num_partials = 0;
};

struct RowRange {
  std::int32_t begin = 0, end = 0;
};

/// How to walk over the rows of a graph in parallel. Depends on the edges only, never on the number of threads, so that
/// results kept per split and merged in order are always the same.
struct RowSchedule {
  std::vector<AttentionRowItem> items;  ///< in row order
  std::vector<SplitAttentionRow> split_rows;
  std::int32_t num_partials = 0;

  std::int64_t memory_bytes() const;
};

struct RowScheduleOptions {
  std::int64_t item_edges = 1024;                          ///< rows are collected until they have so many edges
  std::int64_t split_edges = split_rows::attention_edges;  ///< rows with more are computed in splits of so many
};

/// Of the given rows, or of all. O(rows).
RowSchedule make_row_schedule(const CompressedView& view, const RowScheduleOptions& options = {});
RowSchedule make_row_schedule(const CompressedView& view, std::span<const RowRange> rows,
                              const RowScheduleOptions& options = {});

}  // namespace bough
