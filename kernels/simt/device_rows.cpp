#include "bough/detail/simt/device_rows.h"

#include "kernels/cuda/grouping.h"
#include "kernels/scratch.h"
#include "kernels/simt/device_copy.h"

namespace bough::simt {
namespace {

struct ByDestination : DeviceRows {
  using DeviceRows::DeviceRows;
};
struct BySource : DeviceRows {
  using DeviceRows::DeviceRows;
};
struct DeviceEdgeTypes {
  Tensor types;
};

template <typename T>
constexpr std::int64_t words = sizeof(T) / sizeof(std::int64_t);

}  // namespace

DeviceRows::DeviceRows(const CompressedView& view, std::span<const std::int32_t> edge_types, Device device,
                       std::int64_t split_edges)
    : offsets_(copied(view.offsets, device)),
      neighbours_(copied(view.indices, device)),
      edge_ids_(copied(view.edge_ids, device)),
      types_(copied(edge_types, device)) {
  const RowItems plan = make_row_items(view.offsets, split_edges);
  items_ = copied_bytes(plan.items, device);
  split_rows_ = copied_bytes(plan.split_rows, device);
  rows_ = {structures<RowItem>(items_), static_cast<std::int64_t>(plan.items.size()),
           structures<SplitRowItem>(split_rows_), static_cast<std::int64_t>(plan.split_rows.size()), plan.num_partials};
  edges_ = {device_data<std::int64_t>(offsets_), device_data<std::int32_t>(neighbours_),
            device_data<std::int32_t>(edge_ids_), edge_types.empty() ? nullptr : device_data<std::int32_t>(types_)};
}

DeviceRows::DeviceRows(const UngroupedEdges& ends, std::span<const std::int32_t> edge_types, Device gpu)
    : types_(copied(edge_types, gpu)) {
  const Cuda cuda{gpu.index};
  const auto num_edges = static_cast<std::int64_t>(ends.rows.size());
  const auto room = [&](std::int64_t count, DType dtype) { return Tensor::empty({count}, dtype, gpu); };
  offsets_ = room(ends.num_rows + 1, DType::int64);
  neighbours_ = room(num_edges, DType::int32);
  edge_ids_ = room(num_edges, DType::int32);
  auto* offsets = device_data<std::int64_t>(offsets_);
  const Tensor rows = copied(ends.rows, gpu), neighbours = copied(ends.neighbours, gpu);
  compress_edges(cuda, device_data<std::int32_t>(rows), device_data<std::int32_t>(neighbours), num_edges, ends.num_rows,
                 ends.num_neighbours, offsets, device_data<std::int32_t>(neighbours_),
                 device_data<std::int32_t>(edge_ids_));

  const Scratch<std::int64_t> partials_before(ends.num_rows + 1, gpu), split_rows_before(ends.num_rows + 1, gpu);
  const RowItemCounts counts = count_row_items(cuda, offsets, ends.num_rows, default_split_edges,
                                               partials_before.data(), split_rows_before.data());
  const std::int64_t num_items = counts.partials + ends.num_rows - counts.split_rows;
  items_ = room(num_items * words<RowItem>, DType::int64);
  split_rows_ = room(counts.split_rows * words<SplitRowItem>, DType::int64);
  fill_row_items(cuda, offsets, ends.num_rows, default_split_edges, partials_before.data(), split_rows_before.data(),
                 counts, reinterpret_cast<RowItem*>(device_data<std::int64_t>(items_)),
                 reinterpret_cast<SplitRowItem*>(device_data<std::int64_t>(split_rows_)));
  rows_ = {structures<RowItem>(items_), num_items, structures<SplitRowItem>(split_rows_), counts.split_rows,
           counts.partials};
  edges_ = {offsets, device_data<std::int32_t>(neighbours_), device_data<std::int32_t>(edge_ids_),
            edge_types.empty() ? nullptr : device_data<std::int32_t>(types_)};
}

DeviceEnds::DeviceEnds(const CooView& edges, Device device)
    : src_(copied(edges.src, device)), dst_(copied(edges.dst, device)) {}
const std::int32_t* DeviceEnds::src() const { return device_data<std::int32_t>(src_); }
const std::int32_t* DeviceEnds::dst() const { return device_data<std::int32_t>(dst_); }

std::shared_ptr<const DeviceEnds> device_ends(const Graph& graph, Device device) {
  return graph.cached<DeviceEnds>([&] { return DeviceEnds(graph.coo(), device); }, key_of(device));
}

Tensor device_edge_types(const Graph& graph, Device device) {
  return graph
      .cached<DeviceEdgeTypes>([&] { return DeviceEdgeTypes{copied(graph.edge_types(), device)}; }, key_of(device))
      ->types;
}

std::shared_ptr<const DeviceRows> device_rows(const Graph& graph, mp::Direction direction, Device device) {
  const std::uint64_t key = key_of(device);
  const bool on_gpu = device.kind != Device::Kind::cpu;
  const auto types = graph.edge_types();
  const auto [src, dst] = graph.coo();
  if (direction == mp::Direction::by_destination) {
    const UngroupedEdges ends{dst, src, graph.num_dst(), graph.num_src()};
    return graph.cached<ByDestination>(
        [&] { return on_gpu ? ByDestination(ends, types, device) : ByDestination(graph.csc(), types, device); }, key);
  }
  const UngroupedEdges ends{src, dst, graph.num_src(), graph.num_dst()};
  return graph.cached<BySource>(
      [&] { return on_gpu ? BySource(ends, types, device) : BySource(graph.csr(), types, device); }, key);
}

}  // namespace bough::simt
