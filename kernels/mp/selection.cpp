#include "kernels/mp/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "kernels/ops/known_rows.h"

namespace bough::mp {

struct RowIds::Copies {
  std::vector<std::int32_t> host;
  std::mutex mutex;
  std::map<std::pair<Device::Kind, int>, Tensor> by_device;
};

RowIds::RowIds(std::vector<std::int32_t> ids) : copies_(std::make_shared<Copies>()) { copies_->host = std::move(ids); }

std::span<const std::int32_t> RowIds::host() const { return copies_->host; }

Tensor RowIds::on(Device device) const {
  const std::scoped_lock lock(copies_->mutex);
  Tensor& copy = copies_->by_device[{device.kind, device.index}];
  if (!copy.defined()) copy = Tensor::from_span<std::int32_t>(host(), {size()}, device);
  return copy;
}

RowIds picked_ids(const RowIds& ids, const RowIds& places) {
  if (!ids.defined()) return places;
  std::vector<std::int32_t> picked;
  picked.reserve(places.host().size());
  for (const std::int32_t place : places.host()) picked.push_back(ids.host()[static_cast<std::size_t>(place)]);
  return RowIds(std::move(picked));
}

Tensor rows_at(const Tensor& feature, const RowIds& ids) {
  return ids.defined() ? gather_known_rows(feature, ids.on(feature.device())) : feature;
}

void require_distinct(std::string_view where, std::string_view what, const IdArray& ids, std::int64_t count) {
  std::vector<std::int32_t> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  if (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= count)) {
    const std::int32_t wrong = sorted.front() < 0 ? sorted.front() : sorted.back();
    throw GraphError(where, fmt::format("there is no {} {}, the graph has {}", what, wrong, count));
  }
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    throw GraphError(where, fmt::format("{} {} is listed twice", what, *twice));
  }
}

void require_rows(std::string_view where, const Fields& fields, std::int64_t count, std::string_view things) {
  if (fields.empty()) throw ConfigError(where, "gave no fields; it must return a Tensor or Fields with at least one");
  for (const auto& [name, values] : fields) {
    if (values.defined() && values.rank() > 0 && values.size(0) == count) continue;
    throw ShapeError(where, fmt::format("must give one row for each of {} {}, it gave {}", count, things,
                                        values.defined() ? to_string(values.shape()) : "an undefined tensor"));
  }
}

Selection select_all(const Graph& graph) { return {graph, {}, {}}; }

Selection select_into(const Graph& graph, const IdArray& nodes) {
  const EdgeSelection chosen = graph.in_edges(nodes);
  std::vector<std::int32_t> receiver(chosen.edge_ids.size());
  for (std::int64_t i = 0; i < nodes.size(); ++i) {
    const auto node = static_cast<std::size_t>(i);
    std::fill(receiver.begin() + chosen.offsets[node], receiver.begin() + chosen.offsets[node + 1],
              static_cast<std::int32_t>(i));
  }
  return {Graph::bipartite(std::span(chosen.src), std::move(receiver),
                           {.num_src = graph.num_src(), .num_dst = nodes.size()}),
          RowIds(chosen.edge_ids), RowIds(nodes.span())};
}

Selection select_edges(const Graph& graph, const IdArray& edges) {
  const CooView coo = graph.coo();
  std::vector<std::int32_t> src, dst, receivers;
  for (const std::int32_t edge : edges) {
    src.push_back(coo.src[static_cast<std::size_t>(edge)]);
    dst.push_back(coo.dst[static_cast<std::size_t>(edge)]);
  }
  receivers = dst;
  std::ranges::sort(receivers);
  receivers.erase(std::ranges::unique(receivers).begin(), receivers.end());
  for (std::int32_t& node : dst) {
    node = static_cast<std::int32_t>(std::ranges::lower_bound(receivers, node) - receivers.begin());
  }
  const auto num_receivers = static_cast<std::int64_t>(receivers.size());
  return {Graph::bipartite(std::move(src), std::move(dst), {.num_src = graph.num_src(), .num_dst = num_receivers}),
          RowIds(edges.span()), RowIds(std::move(receivers))};
}

}  // namespace bough::mp
