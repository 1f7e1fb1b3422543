#include "graph/attention/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "graph/attention/causal_order.h"
#include "graph/attention/row_writer.h"

namespace bough {
namespace {

constexpr std::int64_t max_edges = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t count_chunk = 4096;        // rows; a row costs some 10 to 200 ns to count
constexpr std::int64_t write_chunk = 128 * 1024;  // edges; about as many as fit into the second-level cache

/// offsets[node] .. offsets[node+1] are the edges of a node.
std::vector<std::int64_t> count_edges(std::int64_t num_nodes, const InEdgeRule& rule) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(num_nodes) + 1);
  // A specification that asks for far too much is noticed while counting, not after it.
  std::atomic<std::int64_t> total = 0;
  parallel_chunks(num_nodes, count_chunk, [&](std::int64_t begin, std::int64_t end) {
    if (total.load(std::memory_order_relaxed) > max_edges) return;
    std::int64_t sum = 0;
    for (std::int64_t node = begin; node < end && sum <= max_edges; ++node) {
      const auto id = static_cast<std::int32_t>(node);
      const std::int64_t count = RowWriter::count(id, [&](InEdges& in) { rule(id, in); });
      offsets[static_cast<std::size_t>(node) + 1] = count;
      sum += count;
    }
    total += sum;
  });
  if (total > max_edges) {
    throw GraphError("attention graph",
                     fmt::format("the graph would have more than {} edges; shorten the sequence or let "
                                 "tokens attend to less",
                                 max_edges));
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  return offsets;
}

}  // namespace

Graph assemble_graph(const AttentionGraph& nodes, bool bipartite, std::int64_t num_relations, const InEdgeRule& rule) {
  const auto num_nodes = static_cast<std::int64_t>(nodes.levels.size());
  const auto num_sources = bipartite ? static_cast<std::int64_t>(nodes.source_kinds.size()) : num_nodes;
  const std::vector<std::int64_t> offsets = count_edges(num_nodes, rule);
  const std::int64_t num_edges = offsets.back();

  IdBuffer src(num_edges), dst(num_edges), types(num_edges);
  const RowWriter writer(num_sources, num_relations);
  const CausalOrder order(nodes, bipartite);
  parallel_chunks(
      num_nodes, rows_per_chunk(num_edges / num_nodes, write_chunk), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t node = begin; node < end; ++node) {
          const auto id = static_cast<std::int32_t>(node);
          const auto first = static_cast<std::size_t>(offsets[static_cast<std::size_t>(node)]);
          const auto last = static_cast<std::size_t>(offsets[static_cast<std::size_t>(node) + 1]);
          const EdgeRow row{id, src.span().subspan(first, last - first), types.span().subspan(first, last - first)};
          writer.write(row, [&](InEdges& in) { rule(id, in); });
          if (nodes.causal) order.require(id, row.sources);
          std::fill(dst.data() + first, dst.data() + last, id);
        }
      });
  if (bipartite) {
    return Graph::bipartite(std::move(src), std::move(dst),
                            {.num_src = num_sources,
                             .num_dst = num_nodes,
                             .edge_types = std::move(types),
                             .num_edge_types = num_relations});
  }
  return Graph::from_edges(std::move(src), std::move(dst),
                           {.num_nodes = num_nodes, .edge_types = std::move(types), .num_edge_types = num_relations});
}

}  // namespace bough
