#include "bough/detail/mp/traversal_plan.h"

#include <algorithm>

#include "bough/ops/gspmm.h"

namespace bough {
namespace {

/// Elements of messages below which one thread is faster than several.
constexpr std::int64_t serial_work = 1 << 16;
/// Elements of messages of one task.
constexpr std::int64_t task_work = 1 << 16;
/// From this width on, features are cut into blocks whose row of results stays in the first-level cache.
constexpr std::int64_t wide_features = 8192;
constexpr std::int64_t block_features = 4096;

}  // namespace

namespace mp {

std::int64_t TraversalPlan::bytes() const {
  return static_cast<std::int64_t>(sizeof(*this) + chunk_begin.size() * sizeof(chunk_begin[0]) +
                                   split_rows.size() * sizeof(SplitRow) +
                                   split_row_of.size() * sizeof(split_row_of[0]));
}

TraversalPlan make_traversal_plan(std::span<const std::int64_t> offsets) {
  TraversalPlan plan;
  plan.rows = static_cast<std::int64_t>(offsets.size()) - 1;
  plan.edges = offsets.back() - offsets.front();
  plan.chunk_begin.push_back(0);
  std::int64_t cost = 0;
  for (std::int64_t row = 0; row < plan.rows; ++row) {
    const std::int64_t edges = offsets[static_cast<std::size_t>(row) + 1] - offsets[static_cast<std::size_t>(row)];
    plan.largest_row = std::max(plan.largest_row, edges);
    cost += 1 + (edges > TraversalPlan::split_edges ? 0 : edges);  // split rows are done split by split
    if (edges > TraversalPlan::split_edges) {
      const std::int64_t splits = num_chunks(edges, TraversalPlan::split_edges);
      const auto split_row = static_cast<std::int32_t>(plan.split_rows.size());
      plan.split_rows.push_back({row, plan.num_splits(), splits});
      plan.split_row_of.insert(plan.split_row_of.end(), static_cast<std::size_t>(splits), split_row);
      plan.split_row_edges += edges;
    }
    if (cost >= TraversalPlan::chunk_cost) {
      plan.chunk_begin.push_back(row + 1);
      cost = 0;
    }
  }
  if (plan.chunk_begin.back() != plan.rows) plan.chunk_begin.push_back(plan.rows);
  return plan;
}

std::shared_ptr<const TraversalPlan> traversal_plan(const Graph& graph, Direction direction) {
  const bool by_destination = direction == Direction::by_destination;
  return graph.cached<TraversalPlan>(
      [&] {
        return make_traversal_plan(by_destination ? graph.csc(EdgeIds::implied).offsets
                                                  : graph.csr(EdgeIds::implied).offsets);
      },
      by_destination ? 0 : 1);
}

TraversalSchedule make_traversal_schedule(const TraversalPlan& plan, const FeatureLayout& layout,
                                          const FeatureLayout::Operand& result, Strategy requested) {
  const std::int64_t width = std::max<std::int64_t>(1, layout.outer * layout.inner);
  const std::int64_t work = (plan.edges + plan.rows) * width;
  TraversalSchedule schedule;
  schedule.strategy = requested;
  if (requested == Strategy::automatic) {
    if (work <= serial_work) {
      schedule.strategy = Strategy::serial;
    } else if (width >= wide_features) {
      schedule.strategy = Strategy::features;
    } else {
      schedule.strategy = plan.split_rows.empty() ? Strategy::rows : Strategy::split_rows;
    }
  }
  const bool by_features = schedule.strategy == Strategy::features;
  schedule.split = schedule.strategy == Strategy::split_rows;
  schedule.blocks = cut_features(layout, result, by_features ? std::max<std::int64_t>(8, width / block_features) : 1);
  const std::int64_t block_width = std::max<std::int64_t>(1, width / static_cast<std::int64_t>(schedule.blocks.size()));
  schedule.items_per_task = schedule.strategy == Strategy::serial
                                ? plan.chunks() + plan.num_splits() + 1
                                : rows_per_chunk(TraversalPlan::chunk_cost * block_width, task_work);
  return schedule;
}

void traverse(const TraversalPlan& plan, const TraversalSchedule& schedule, const WorkItemFunctions& functions) {
  // Splits first: they are the largest work items.
  const std::int64_t splits = schedule.split ? plan.num_splits() : 0;
  const std::int64_t items = splits + plan.chunks();
  const auto blocks = static_cast<std::int64_t>(schedule.blocks.size());
  parallel_chunks(items * blocks, schedule.items_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const FeatureBlock& block = schedule.blocks[static_cast<std::size_t>(i / items)];
      const std::int64_t item = i % items;
      if (item < splits) {
        const auto split_row = static_cast<std::size_t>(plan.split_row_of[static_cast<std::size_t>(item)]);
        functions.split(plan.split_rows[split_row], item, block);
      } else {
        const auto chunk = static_cast<std::size_t>(item - splits);
        functions.rows(plan.chunk_begin[chunk], plan.chunk_begin[chunk + 1], block);
      }
    }
  });
  if (splits == 0) return;
  const auto split_rows = static_cast<std::int64_t>(plan.split_rows.size());
  parallel_chunks(split_rows * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      functions.merge(plan.split_rows[static_cast<std::size_t>(i % split_rows)],
                      schedule.blocks[static_cast<std::size_t>(i / split_rows)]);
    }
  });
}

}  // namespace mp

Strategy chosen_strategy(const Graph& graph, std::int64_t width) {
  const Shape row{width};
  const mp::FeatureLayout layout = mp::broadcast_layout(row, std::span(&row, 1));
  return mp::make_traversal_schedule(*mp::traversal_plan(graph, mp::Direction::by_destination), layout,
                                     layout.operands[0])
      .strategy;
}

}  // namespace bough
