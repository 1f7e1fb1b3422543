#include "kernels/simt/device_rows.h"

#include "kernels/device_data.h"

namespace bough::simt {
namespace {

struct ByDestination : DeviceRows {
  using DeviceRows::DeviceRows;
};
struct BySource : DeviceRows {
  using DeviceRows::DeviceRows;
};

template <typename T>
Tensor copied(std::span<const T> values, Device device) {
  return Tensor::from_span(values, {static_cast<std::int64_t>(values.size())}).to(device);
}

/// As whole numbers, because tensors hold no structures.
template <typename T>
Tensor copied_bytes(const std::vector<T>& values, Device device) {
  static_assert(sizeof(T) % sizeof(std::int64_t) == 0);
  const auto* words = reinterpret_cast<const std::int64_t*>(values.data());
  return copied(std::span(words, values.size() * sizeof(T) / sizeof(std::int64_t)), device);
}

template <typename T>
const T* structures(const Tensor& words) {
  return reinterpret_cast<const T*>(device_data<std::int64_t>(words));
}

/// Tells what is cached for one device from what is for another.
std::uint64_t key_of(Device device) {
  return static_cast<std::uint64_t>(device.kind == Device::Kind::cpu ? 0 : 1 + device.index);
}

}  // namespace

DeviceRows::DeviceRows(const CompressedView& view, std::span<const std::int32_t> edge_types, Device device,
                       std::int64_t segment_edges)
    : offsets_(copied(view.offsets, device)),
      neighbours_(copied(view.indices, device)),
      edge_ids_(copied(view.edge_ids, device)),
      types_(copied(edge_types, device)) {
  const RowItems plan = make_row_items(view.offsets, segment_edges);
  items_ = copied_bytes(plan.items, device);
  cut_rows_ = copied_bytes(plan.cut_rows, device);
  rows_ = {structures<RowItem>(items_), static_cast<std::int64_t>(plan.items.size()), structures<CutRow>(cut_rows_),
           static_cast<std::int64_t>(plan.cut_rows.size()), plan.num_partials};
  edges_ = {device_data<std::int64_t>(offsets_), device_data<std::int32_t>(neighbours_),
            device_data<std::int32_t>(edge_ids_), edge_types.empty() ? nullptr : device_data<std::int32_t>(types_)};
}

DeviceEnds::DeviceEnds(const CooView& edges, Device device)
    : src_(copied(edges.src, device)), dst_(copied(edges.dst, device)) {}
const std::int32_t* DeviceEnds::src() const { return device_data<std::int32_t>(src_); }
const std::int32_t* DeviceEnds::dst() const { return device_data<std::int32_t>(dst_); }

std::shared_ptr<const DeviceEnds> device_ends(const Graph& graph, Device device) {
  return graph.cached<DeviceEnds>([&] { return DeviceEnds(graph.coo(), device); }, key_of(device));
}

std::shared_ptr<const DeviceRows> device_rows(const Graph& graph, mp::Direction direction, Device device) {
  const std::uint64_t key = key_of(device);
  if (direction == mp::Direction::by_destination) {
    return graph.cached<ByDestination>([&] { return ByDestination(graph.csc(), graph.edge_types(), device); }, key);
  }
  return graph.cached<BySource>([&] { return BySource(graph.csr(), graph.edge_types(), device); }, key);
}

}  // namespace bough::simt
