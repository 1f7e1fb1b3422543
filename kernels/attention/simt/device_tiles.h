#pragma once

#include <memory>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/detail/simt/device_rows.h"
#include "bough/graph/graph.h"
#include "kernels/attention/simt/tile_plan.h"

namespace bough::simt {

/// Items of rows in the memory of a device.
class DeviceRowItems {
 public:
  DeviceRowItems() = default;
  DeviceRowItems(const RowItems& items, Device device);
  RowItemView view() const { return view_; }

 private:
  Tensor items_, split_rows_;
  RowItemView view_;
};

/// The tiles of a graph's plan in the memory of a device, and what they leave to the row kernels.
class DeviceTiles {
 public:
  DeviceTiles(const Graph& graph, bool with_relations, Device device, std::int64_t batch_columns,
              std::int64_t split_edges = default_split_edges);

  bool has_tiles() const { return tiles_.num_tiles > 0; }
  const TileView& tiles() const { return tiles_; }
  std::span<const TileBatchView> batches() const { return batches_; }
  /// Rows without a tile; their edges are those of the graph by destination.
  RowItemView rows() const { return rows_.view(); }
  /// All sources, with the edges of rows without a tile.
  const DeviceRows& row_sources() const { return *row_sources_; }

 private:
  struct DeviceParts {
    Tensor order;
    std::vector<DeviceRowItems> batches;
    PartView view(std::size_t batch) const;
  };
  static DeviceParts parts_of(const PartLists& lists, Device device);
  void copy_plan(const AttentionTilePlan& plan, Device device);

  std::vector<Tensor> memory_;
  TileView tiles_;
  DeviceParts columns_by_source_, columns_by_relation_, relations_by_relation_;
  std::vector<TileBatchView> batches_;
  DeviceRowItems rows_, split_rows_;
  std::shared_ptr<const DeviceRows> row_sources_;
};

/// The graph's, copied to the device when first asked for, in batches for about this many heads.
std::shared_ptr<const DeviceTiles> device_tiles(const Graph& graph, bool with_relations, std::int64_t heads,
                                                Device device);

}  // namespace bough::simt
