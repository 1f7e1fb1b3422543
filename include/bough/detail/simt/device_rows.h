#pragma once

#include <memory>

#include "bough/core/tensor.h"
#include "bough/detail/mp/adjacency.h"
#include "bough/detail/simt/row_items.h"
#include "bough/graph/graph.h"

namespace bough::simt {

/// Edges in the order in which they were given, seen from one end.
struct UngroupedEdges {
  std::span<const std::int32_t> rows, neighbours;
  std::int64_t num_rows = 0, num_neighbours = 0;
};

/// One direction of a graph in the memory of a device, with the work items of its kernels.
class DeviceRows {
 public:
  /// Copies what was grouped on the host.
  DeviceRows(const CompressedView& view, std::span<const std::int32_t> edge_types, Device device,
             std::int64_t split_edges = default_split_edges);
  /// Groups edges on a GPU: the same rows, whose host then needs no such format of the graph. Waits for the GPU.
  DeviceRows(const UngroupedEdges& ends, std::span<const std::int32_t> edge_types, Device gpu);

  std::int64_t num_rows() const { return offsets_.elements() - 1; }
  RowItemView rows() const { return rows_; }
  EdgeView edges() const { return edges_; }

 private:
  Tensor offsets_, neighbours_, edge_ids_, types_, items_, split_rows_;
  RowItemView rows_;
  EdgeView edges_;
};

/// The graph's, made when first asked for: on a GPU from the edges, for kernels on the emulator from the host's format.
std::shared_ptr<const DeviceRows> device_rows(const Graph& graph, mp::Direction direction, Device device);

/// Both ends of each edge, in the order in which the edges were given.
class DeviceEnds {
 public:
  DeviceEnds(const CooView& edges, Device device);

  const std::int32_t* src() const;
  const std::int32_t* dst() const;

 private:
  Tensor src_, dst_;
};

/// The graph's, copied to the device when first asked for.
std::shared_ptr<const DeviceEnds> device_ends(const Graph& graph, Device device);

/// The type of each edge, int32 [edges], copied to the device when first asked for; [0] for a graph without types.
Tensor device_edge_types(const Graph& graph, Device device);

}  // namespace bough::simt
