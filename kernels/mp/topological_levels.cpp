#include <fmt/format.h>

#include "bough/mp/frame.h"

namespace bough {
namespace {

/// `missing` counts the sources of each node that have no level. Every node that has such sources is on a cycle or
/// behind one, and has a source of that kind: a walk from source to source ends on a cycle and stays there.
std::size_t node_on_cycle(const Graph& graph, const std::vector<std::int64_t>& missing) {
  const CscView csc = graph.csc(EdgeIds::implied);
  std::size_t node = 0;
  while (missing[node] == 0) ++node;
  for (std::size_t step = 0; step < missing.size(); ++step) {
    auto place = static_cast<std::size_t>(csc.offsets[node]);
    while (missing[static_cast<std::size_t>(csc.indices[place])] == 0) ++place;
    node = static_cast<std::size_t>(csc.indices[place]);
  }
  return node;
}

}  // namespace

std::vector<IdArray> topological_levels(const Graph& graph) {
  if (graph.is_bipartite()) {
    throw GraphError("topological_levels", "needs a graph whose sources and destinations are the same nodes");
  }
  const CsrView csr = graph.csr(EdgeIds::implied);
  std::vector<std::int64_t> missing = graph.in_degrees();
  std::vector<std::int32_t> level;
  for (std::size_t node = 0; node < missing.size(); ++node) {
    if (missing[node] == 0) level.push_back(static_cast<std::int32_t>(node));
  }
  std::vector<IdArray> levels;
  std::int64_t reached = 0;
  while (!level.empty()) {
    reached += static_cast<std::int64_t>(level.size());
    std::vector<std::int32_t> next;
    for (const std::int32_t node : level) {
      const auto row = static_cast<std::size_t>(node);
      for (auto p = csr.offsets[row]; p < csr.offsets[row + 1]; ++p) {
        const std::int32_t destination = csr.indices[static_cast<std::size_t>(p)];
        if (--missing[static_cast<std::size_t>(destination)] == 0) next.push_back(destination);
      }
    }
    levels.emplace_back(std::move(level));
    level = std::move(next);
  }
  if (reached < graph.num_nodes()) {
    throw GraphError("topological_levels", fmt::format("the graph has a cycle; node {} is on it, and {} nodes have no "
                                                       "level",
                                                       node_on_cycle(graph, missing), graph.num_nodes() - reached));
  }
  return levels;
}

}  // namespace bough
