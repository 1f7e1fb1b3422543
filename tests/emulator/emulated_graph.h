#pragma once

#include "bough/graph/graph.h"
#include "kernels/emulator/queue.h"
#include "kernels/simt/row_items.h"

namespace bough::test {

/// One direction of a graph as emulated kernels see it. Views point into it and into the graph.
struct EmulatedRows {
  EmulatedRows(emulator::Queue& queue, const CompressedView& view, std::span<const std::int32_t> edge_types,
               std::int64_t segment_edges)
      : plan(simt::make_row_items(view.offsets, segment_edges)),
        items(queue.upload(std::span<const simt::RowItem>(plan.items))),
        cut_rows(queue.upload(std::span<const simt::CutRow>(plan.cut_rows))),
        edges{view.offsets.data(), view.indices.data(), view.edge_ids.data(),
              edge_types.empty() ? nullptr : edge_types.data()} {}

  simt::RowItemView rows() const {
    return {items.data(), static_cast<std::int64_t>(plan.items.size()), cut_rows.data(),
            static_cast<std::int64_t>(plan.cut_rows.size()), plan.num_partials};
  }

  simt::RowItems plan;
  emulator::Buffer<simt::RowItem> items;
  emulator::Buffer<simt::CutRow> cut_rows;
  simt::EdgeView edges;
};

}  // namespace bough::test
