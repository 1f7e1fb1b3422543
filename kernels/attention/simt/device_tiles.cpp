#include "kernels/attention/simt/device_tiles.h"

#include <bit>

#include "kernels/simt/device_copy.h"

namespace bough::simt {
namespace {

/// Marks the rows that tiles have.
std::vector<std::uint8_t> tiled_rows(const AttentionPlan& plan, std::int64_t num_rows) {
  std::vector<std::uint8_t> tiled(static_cast<std::size_t>(num_rows), 0);
  for (const AttentionPlan::Tile& tile : plan.tiles) {
    for (std::int32_t lane = 0; lane < tile.num_lanes; ++lane) {
      tiled[static_cast<std::size_t>(tile.rows[static_cast<std::size_t>(lane)])] = 1;
    }
  }
  return tiled;
}

}  // namespace

DeviceRowItems::DeviceRowItems(const RowItems& items, Device device)
    : items_(copied_bytes(items.items, device)), split_rows_(copied_bytes(items.split_rows, device)) {
  view_ = {structures<RowItem>(items_), static_cast<std::int64_t>(items.items.size()),
           structures<SplitRowItem>(split_rows_), static_cast<std::int64_t>(items.split_rows.size()),
           items.num_partials};
}

PartView DeviceTiles::DeviceParts::view(std::size_t batch) const {
  if (batches.empty()) return {};
  return {device_data<std::int32_t>(order), batches[batch].view()};
}

DeviceTiles::DeviceParts DeviceTiles::parts_of(const PartLists& lists, Device device) {
  DeviceParts parts{copied(std::span(lists.order), device), {}};
  for (const RowItems& items : lists.batches) parts.batches.emplace_back(items, device);
  return parts;
}

DeviceTiles::DeviceTiles(const Graph& graph, bool with_relations, Device device, std::int64_t batch_columns,
                         std::int64_t split_edges) {
  const std::shared_ptr<const AttentionPlan> plan = attention_plan(graph, with_relations);
  if (!plan->has_tiles()) return;
  copy_plan(make_attention_tile_plan(*plan, batch_columns), device);
  RowItems split;
  split.num_partials = plan->num_partials;
  for (const auto& row : plan->split_rows) split.split_rows.push_back({row.row, row.first_partial, row.num_partials});
  split_rows_ = DeviceRowItems(split, device);
  tiles_.split_rows = split_rows_.view();
  rows_ = DeviceRowItems(make_row_items(graph.csc().offsets, split_edges, tiled_rows(*plan, graph.num_dst())), device);
  const std::vector<std::int64_t> no_edges(static_cast<std::size_t>(graph.num_src()) + 1, 0);
  row_sources_ = plan->has_rows() ? std::make_shared<DeviceRows>(plan->row_edges_by_source(), graph.edge_types(),
                                                                 device, split_edges)
                                  : std::make_shared<DeviceRows>(CompressedView{no_edges, {}, {}},
                                                                 std::span<const std::int32_t>(), device, split_edges);
}

void DeviceTiles::copy_plan(const AttentionTilePlan& plan, Device device) {
  const auto keep = [&]<typename T>(const std::vector<T>& structs) {
    return structures<T>(memory_.emplace_back(copied_bytes(structs, device)));
  };
  const auto keep_numbers = [&](std::span<const std::int32_t> numbers) {
    return device_data<std::int32_t>(std::as_const(memory_.emplace_back(copied(numbers, device))));
  };
  tiles_.tiles = keep(plan.tiles);
  tiles_.num_tiles = static_cast<std::int64_t>(plan.tiles.size());
  tiles_.lane_rows = keep_numbers(plan.lane_rows);
  tiles_.lane_partials = keep_numbers(plan.lane_partials);
  tiles_.steps = keep(plan.steps);
  tiles_.columns = keep(plan.columns);
  tiles_.relations = keep_numbers(plan.relations);
  if (!plan.relation_places.empty()) {
    const auto* places = reinterpret_cast<const std::int32_t*>(plan.relation_places.data());
    tiles_.relation_places =
        reinterpret_cast<const RelationPlaces*>(keep_numbers(std::span(places, plan.relation_places.size())));
  }
  columns_by_source_ = parts_of(plan.columns_by_source, device);
  columns_by_relation_ = parts_of(plan.columns_by_relation, device);
  relations_by_relation_ = parts_of(plan.relations_by_relation, device);
  for (std::size_t i = 0; i < plan.batches.size(); ++i) {
    batches_.push_back(
        {plan.batches[i], columns_by_source_.view(i), columns_by_relation_.view(i), relations_by_relation_.view(i)});
  }
}

std::shared_ptr<const DeviceTiles> device_tiles(const Graph& graph, bool with_relations, std::int64_t heads,
                                                Device device) {
  const auto counted = std::bit_ceil(static_cast<std::uint64_t>(heads < 1 ? 1 : heads));
  const std::uint64_t key = key_of(device) << 40 | counted << 1 | std::uint64_t{with_relations};
  return graph.cached<DeviceTiles>(
      [&] {
        return DeviceTiles(graph, with_relations, device, columns_and_heads_held / static_cast<std::int64_t>(counted));
      },
      key);
}

}  // namespace bough::simt
