#include "bough/graph/needed_nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "graph/store/rows.h"

namespace bough {
namespace {

/// The nodes that are marked, ascending.
IdArray marked_nodes(const std::vector<std::uint8_t>& marks) {
  std::vector<std::int32_t> nodes;
  for (std::size_t node = 0; node < marks.size(); ++node) {
    if (marks[node] != 0) nodes.push_back(static_cast<std::int32_t>(node));
  }
  return IdArray(std::move(nodes));
}

/// Position of each node among the given ones; -1 for others.
IdBuffer positions_of(const IdArray& nodes, std::int64_t num_nodes) {
  IdBuffer positions(num_nodes);
  std::ranges::fill(positions.span(), -1);
  for (std::int64_t i = 0; i < nodes.size(); ++i) positions.data()[nodes[i]] = static_cast<std::int32_t>(i);
  return positions;
}

LayerView whole_graph(const Graph& graph) {
  const IdArray nodes = identity_ids(graph.num_nodes());
  return {graph, nodes, nodes, nodes, identity_ids(graph.num_edges())};
}

/// The view whose layer computes `destinations`, ascending.
LayerView view_of(const Graph& graph, const IdArray& destinations) {
  IdArray sources = nodes_and_sources(graph, destinations, destinations);
  EdgeSubset part = edges_between(graph, sources, destinations);
  IdArray rows = gather(positions_of(sources, graph.num_nodes()).span(), destinations.span());
  return {std::move(part.graph), std::move(sources), destinations, std::move(rows), std::move(part.edge_ids)};
}

}  // namespace

IdArray nodes_and_sources(const Graph& graph, const IdArray& nodes, const IdArray& destinations) {
  require_nodes("nodes_and_sources", nodes.span(), graph.num_src());
  require_nodes("nodes_and_sources", destinations.span(), graph.num_dst());
  const CscView csc = graph.csc(EdgeIds::implied);
  std::vector<std::uint8_t> marks(static_cast<std::size_t>(graph.num_src()));
  for (const std::int32_t node : nodes) marks[static_cast<std::size_t>(node)] = 1;
  for (const std::int32_t node : destinations) {
    const auto row = static_cast<std::size_t>(node);
    for (std::int64_t at = csc.offsets[row]; at < csc.offsets[row + 1]; ++at) {
      marks[static_cast<std::size_t>(csc.indices[static_cast<std::size_t>(at)])] = 1;
    }
  }
  return marked_nodes(marks);
}

EdgeSubset edges_between(const Graph& graph, const IdArray& sources, const IdArray& destinations) {
  constexpr const char* where = "edges_between";
  require_nodes(where, sources.span(), graph.num_src());
  require_nodes(where, destinations.span(), graph.num_dst());
  const CscView csc = graph.csc(EdgeIds::implied);
  const std::vector<std::int64_t> offsets = row_offsets(csc, destinations.span());
  const IdBuffer source_rows = positions_of(sources, graph.num_src());
  const IdBuffer destination_rows = positions_of(destinations, graph.num_dst());

  IdBuffer src(offsets.back()), dst(offsets.back()), edges(offsets.back());
  for_each_row(csc, destinations.span(), offsets,
               [&](std::int32_t row, std::int64_t from, std::int64_t count, std::int64_t to) {
                 for (std::int64_t i = 0; i < count; ++i) {
                   const std::int32_t source = csc.indices[static_cast<std::size_t>(from + i)];
                   src.data()[to + i] = source_rows.span()[static_cast<std::size_t>(source)];
                   edges.data()[to + i] = edge_at(csc, from + i);
                 }
                 std::fill_n(dst.data() + to, count, destination_rows.span()[static_cast<std::size_t>(row)]);
               });
  if (const auto outside = std::ranges::find(src.span(), -1); outside != src.span().end()) {
    const std::int32_t edge = edges.span()[static_cast<std::size_t>(outside - src.span().begin())];
    throw GraphError(where, fmt::format("edge {} comes from node {}, which is not among the sources", edge,
                                        graph.coo().src[static_cast<std::size_t>(edge)]));
  }
  IdArray edge_ids(std::move(edges));
  Graph part = Graph::bipartite(std::move(src), std::move(dst),
                                {.num_src = sources.size(),
                                 .num_dst = destinations.size(),
                                 .edge_types = gather(graph.edge_types(), edge_ids.span()),
                                 .num_edge_types = graph.num_edge_types()});
  return {std::move(part), std::move(edge_ids)};
}

NeededNodes Graph::needed_nodes(const IdArray& readout, int layers) const {
  constexpr const char* where = "Graph::needed_nodes";
  if (is_bipartite()) {
    throw GraphError(where, "layers pass values on from node to node, but a bipartite graph has separate destinations");
  }
  if (layers < 0) throw GraphError(where, fmt::format("the number of layers must not be negative, it is {}", layers));
  require_nodes(where, readout.span(), num_nodes());

  std::vector<std::uint8_t> marks(static_cast<std::size_t>(num_nodes()));
  for (const std::int32_t node : readout) marks[static_cast<std::size_t>(node)] = 1;
  IdArray needed = marked_nodes(marks);

  NeededNodes result;
  result.readout_rows = gather(positions_of(needed, num_nodes()).span(), readout.span());
  for (int layer = 0; layer < layers; ++layer) {
    // Sources include the destinations, so sets of equal size are equal: from here backwards nothing changes.
    const bool settled = !result.layers.empty() && result.layers.back().destinations.size() == needed.size();
    result.layers.push_back(settled                        ? result.layers.back()
                            : needed.size() == num_nodes() ? whole_graph(*this)
                                                           : view_of(*this, needed));
    needed = result.layers.back().sources;
  }
  std::reverse(result.layers.begin(), result.layers.end());
  return result;
}

}  // namespace bough
