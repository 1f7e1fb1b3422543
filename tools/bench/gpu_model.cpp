#include "tools/bench/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bough/core/dtype.h"
#include "bough/core/errors.h"
#include "kernels/attention/plan/attention_plan.h"
#include "kernels/attention/simt/cost.h"

namespace bough::bench {
namespace {

/// Caches deliver 5120 bytes a clock on the A100, by its white paper; the H100 is taken to do the same.
const std::array<GpuModel, 2> models{{
    {"A100", 2.039e12, 5120 * 1.41e9, 19.5e12, 312e12},
    {"H100", 3.35e12, 5120 * 1.755e9, 66.9e12, 989.4e12},
}};

struct Bound {
  double milliseconds;
  const char* by;
};

/// The slowest of memory, second-level cache and arithmetic, each as fast as it can be. What the first-level cache
/// saves depends on how rows meet on a multiprocessor, so nothing is taken off for it.
Bound bound_of(const GpuModel& gpu, const simt::AttentionCost& cost, bool tensor_cores) {
  const double sectors = 32 * (cost.load_sectors + cost.store_sectors);
  const double arithmetic = tensor_cores ? gpu.tensor_arithmetic : gpu.arithmetic;
  const std::array<Bound, 3> bounds{{{1e3 * cost.least_bytes / gpu.memory_bandwidth, "memory"},
                                     {1e3 * sectors / gpu.cache_bandwidth, "cache"},
                                     {1e3 * cost.operations / arithmetic, "arithmetic"}}};
  return *std::ranges::max_element(bounds, {}, &Bound::milliseconds);
}

struct Kernel {
  std::string name;
  simt::AttentionCost cost;
  bool tensor_cores = false;
};

/// The kernels that calls launch, and what each of them moves and computes.
std::vector<Kernel> kernels_of(const AttentionPlan& plan, const Graph& graph, const simt::AttentionSize& all) {
  // Rows that no tile has; all of their edges by source are left to rows too.
  simt::AttentionSize by_destination = all, by_source = all;
  by_source.rows = graph.num_src();
  if (plan.has_tiles()) {
    by_destination.rows = plan.summary.rows_left;
    by_destination.edges = by_source.edges = plan.summary.row_edges;
  }
  std::vector<Kernel> kernels;
  if (plan.has_tiles()) {
    const simt::TileCounts tiles =
        count_tiles(simt::make_attention_tile_plan(plan, simt::columns_and_heads_held / all.heads));
    kernels.push_back({"forward, tiles", tile_forward_cost(tiles, all)});
    if (all.element_bytes == 2) {
      kernels.push_back({"forward, tiles on tensor cores", tile_forward_cost(tiles, all), true});
    }
    kernels.push_back({"backward, tiles", tile_backward_cost(tiles, all)});
    kernels.push_back({"backward, sums of tiles", tile_sums_cost(tiles, all)});
  }
  if (by_destination.edges > 0) {
    kernels.push_back({"forward, rows", forward_cost(by_destination)});
    kernels.push_back({"backward, rows to destinations", to_destinations_cost(by_destination)});
  }
  kernels.push_back({"backward, rows to sources", to_sources_cost(by_source)});
  kernels.push_back({"backward, delta", delta_cost(all)});
  return kernels;
}

}  // namespace

const GpuModel& gpu_model(const std::string& name) {
  const auto found = std::ranges::find(models, name, &GpuModel::name);
  if (found != models.end()) return *found;
  std::string known;
  for (const GpuModel& model : models) known += (known.empty() ? "" : ", ") + model.name;
  throw ConfigError("bench", fmt::format("there is no model of the GPU '{}'; known are {}", name, known));
}

void report_attention_bounds(const GpuModel& gpu, const std::string& pattern, const Graph& graph, bool relations,
                             const Report& report) {
  const auto plan = attention_plan(graph, relations);
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const simt::AttentionSize all{.rows = graph.num_dst(),
                                  .edges = graph.num_edges(),
                                  .heads = 8,
                                  .width = 64,
                                  .value_width = 64,
                                  .relation_keys = relations,
                                  .element_bytes = static_cast<std::int64_t>(size_of(dtype))};
    const std::string type = dtype == DType::float32 ? "" : fmt::format("{} ", name_of(dtype));
    for (const auto& [name, cost, tensor_cores] : kernels_of(*plan, graph, all)) {
      const Bound bound = bound_of(gpu, cost, tensor_cores);
      const double sectors = cost.load_sectors + cost.store_sectors;
      report({.case_name = fmt::format("{} {}{} on {}", pattern, type, name, gpu.name),
              .milliseconds = bound.milliseconds,
              .note = fmt::format(
                  "not measured: the least time without hits in the first-level cache, bound by {}; {:.1f} MB, "
                  "{:.1f} MB through the second-level cache, "
                  "{:.2f} GFLOP",
                  bound.by, cost.least_bytes / 1e6, 32 * sectors / 1e6, cost.operations / 1e9),
              .figures = {{"least_bytes", cost.least_bytes}, {"sectors", sectors}, {"operations", cost.operations}}});
    }
  }
}

}  // namespace bough::bench
