#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/graph/graph.h"
#include "graph/store/graph_structure.h"
#include "graph/store/rows.h"

namespace bough {
namespace {

std::vector<std::int64_t> copy_of(std::span<const std::int64_t> offsets) { return {offsets.begin(), offsets.end()}; }

/// The edges of the given rows, ascending, each once.
std::vector<std::int32_t> edges_of_rows(const CompressedView& view, std::span<const std::int32_t> nodes) {
  std::vector<std::int32_t> rows(nodes.begin(), nodes.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const std::vector<std::int64_t> offsets = row_offsets(view, rows);
  std::vector<std::int32_t> edges(static_cast<std::size_t>(offsets.back()));
  for_each_row(view, rows, offsets, [&](std::int32_t, std::int64_t from, std::int64_t count, std::int64_t to) {
    for (std::int64_t i = 0; i < count; ++i) edges[static_cast<std::size_t>(to + i)] = edge_at(view, from + i);
  });
  if (!view.in_edge_order) std::sort(edges.begin(), edges.end());
  return edges;
}

/// For every edge the first one it is to be merged with, itself included. Equal ends lie next to each other in csc.
IdBuffer first_of_equals(const CscView& csc, std::span<const std::int32_t> types) {
  IdBuffer first(csc.num_edges());
  const std::int64_t degree = csc.num_edges() / std::max<std::int64_t>(1, csc.num_rows()) + 1;
  parallel_chunks(csc.num_rows(), rows_per_chunk(degree), [&](std::int64_t begin_row, std::int64_t end_row) {
    std::vector<std::int32_t> run;
    const std::int64_t end = csc.offsets[static_cast<std::size_t>(end_row)];
    std::int64_t row = begin_row;
    for (std::int64_t at = csc.offsets[static_cast<std::size_t>(begin_row)]; at < end;) {
      while (csc.offsets[static_cast<std::size_t>(row) + 1] <= at) ++row;
      const std::int64_t row_end = csc.offsets[static_cast<std::size_t>(row) + 1];
      const std::int32_t source = csc.indices[static_cast<std::size_t>(at)];
      run.clear();
      for (; at < row_end && csc.indices[static_cast<std::size_t>(at)] == source; ++at) run.push_back(edge_at(csc, at));
      if (!types.empty()) {
        std::stable_sort(run.begin(), run.end(), [&](std::int32_t a, std::int32_t b) {
          return types[static_cast<std::size_t>(a)] < types[static_cast<std::size_t>(b)];
        });
      }
      std::int32_t leader = run.front();
      for (const std::int32_t edge : run) {
        if (!types.empty() && types[static_cast<std::size_t>(edge)] != types[static_cast<std::size_t>(leader)]) {
          leader = edge;
        }
        first.data()[edge] = leader;
      }
    }
  });
  return first;
}

/// Position of each node among the given ones; -1 for others.
IdBuffer positions_of(const IdArray& nodes, std::int64_t num_nodes) {
  IdBuffer positions(num_nodes);
  std::ranges::fill(positions.span(), -1);
  for (std::int64_t i = 0; i < nodes.size(); ++i) positions.data()[nodes[i]] = static_cast<std::int32_t>(i);
  return positions;
}

}  // namespace

Graph Graph::with_edges(const char* where, std::span<const std::int32_t> edges) const {
  std::vector<std::int64_t> offsets;
  for (const std::int64_t offset : edge_offsets()) {
    offsets.push_back(std::lower_bound(edges.begin(), edges.end(), offset) - edges.begin());
  }
  return Graph(std::make_shared<const GraphStructure>(where, GraphParts{.src = gather(coo().src, edges),
                                                                        .dst = gather(coo().dst, edges),
                                                                        .bipartite = is_bipartite(),
                                                                        .num_src = num_src(),
                                                                        .num_dst = num_dst(),
                                                                        .edge_types = gather(edge_types(), edges),
                                                                        .num_edge_types = num_edge_types(),
                                                                        .src_offsets = copy_of(src_offsets()),
                                                                        .dst_offsets = copy_of(dst_offsets()),
                                                                        .edge_offsets = std::move(offsets)}));
}

EdgeSubset Graph::in_subgraph(const IdArray& nodes) const {
  require_nodes("Graph::in_subgraph", nodes.span(), num_dst());
  std::vector<std::int32_t> edges = edges_of_rows(csc(EdgeIds::implied), nodes.span());
  Graph graph = with_edges("Graph::in_subgraph", edges);
  return {std::move(graph), std::move(edges)};
}

EdgeSubset Graph::out_subgraph(const IdArray& nodes) const {
  require_nodes("Graph::out_subgraph", nodes.span(), num_src());
  std::vector<std::int32_t> edges = edges_of_rows(csr(EdgeIds::implied), nodes.span());
  Graph graph = with_edges("Graph::out_subgraph", edges);
  return {std::move(graph), std::move(edges)};
}

EdgeSubset Graph::sort(EdgeEnd by) const {
  const CompressedView view = by == EdgeEnd::destination ? csc(EdgeIds::implied) : csr(EdgeIds::implied);
  if (view.in_edge_order) return {*this, identity_ids(num_edges())};
  // Graphs of a batch have ascending node ranges, so sorting moves no edge into another graph.
  Graph graph(std::make_shared<const GraphStructure>("Graph::sort",
                                                     GraphParts{.src = gather(coo().src, view.edge_ids),
                                                                .dst = gather(coo().dst, view.edge_ids),
                                                                .bipartite = is_bipartite(),
                                                                .num_src = num_src(),
                                                                .num_dst = num_dst(),
                                                                .edge_types = gather(edge_types(), view.edge_ids),
                                                                .num_edge_types = num_edge_types(),
                                                                .src_offsets = copy_of(src_offsets()),
                                                                .dst_offsets = copy_of(dst_offsets()),
                                                                .edge_offsets = copy_of(edge_offsets())}));
  return {std::move(graph), IdArray(view.edge_ids)};
}

SimplifiedGraph Graph::simplify(SimplifyOptions options) const {
  IdBuffer edge_map =
      first_of_equals(csc(EdgeIds::implied), options.merge_types ? std::span<const std::int32_t>() : edge_types());
  // A first edge comes before those merged into it, so that its new number is known when theirs is asked for.
  std::vector<std::int32_t> kept;
  for (std::int32_t edge = 0; edge < edge_map.size(); ++edge) {
    std::int32_t& target = edge_map.data()[edge];
    if (target == edge) {
      target = static_cast<std::int32_t>(kept.size());
      kept.push_back(edge);
    } else {
      target = edge_map.data()[target];
    }
  }
  Graph graph = with_edges("Graph::simplify", kept);
  return {std::move(graph), std::move(edge_map), std::move(kept)};
}

Graph Graph::add_self_loops(SelfLoopOptions options) const {
  constexpr const char* where = "Graph::add_self_loops";
  if (is_bipartite()) throw GraphError(where, "a bipartite graph has no node that is both source and destination");
  const bool typed = num_edge_types() > 0;
  if (options.edge_type && !typed) throw GraphError(where, "edge_type is for typed graphs, but this one has no types");
  const std::int64_t type = options.edge_type.value_or(num_edge_types());
  if (typed && (type < 0 || type > std::numeric_limits<std::int32_t>::max() - 1)) {
    throw GraphError(where, fmt::format("edge_type must be a type of 32 bits from 0 on, it is {}", type));
  }

  std::vector<std::int32_t> src, dst, types;
  std::vector<std::int64_t> offsets{0};
  const auto reserve = static_cast<std::size_t>(num_edges() + num_nodes());
  src.reserve(reserve);
  dst.reserve(reserve);
  if (typed) types.reserve(reserve);
  for (std::size_t graph = 0; graph < static_cast<std::size_t>(num_graphs()); ++graph) {
    const auto begin = edge_offsets()[graph];
    const auto end = edge_offsets()[graph + 1];
    src.insert(src.end(), coo().src.begin() + begin, coo().src.begin() + end);
    dst.insert(dst.end(), coo().dst.begin() + begin, coo().dst.begin() + end);
    if (typed) types.insert(types.end(), edge_types().begin() + begin, edge_types().begin() + end);
    for (std::int64_t node = graph_offsets()[graph]; node < graph_offsets()[graph + 1]; ++node) {
      if (options.only_missing && has_edge(node, node)) continue;
      src.push_back(static_cast<std::int32_t>(node));
      dst.push_back(static_cast<std::int32_t>(node));
      if (typed) types.push_back(static_cast<std::int32_t>(type));
    }
    offsets.push_back(static_cast<std::int64_t>(src.size()));
  }
  return from_edges(std::move(src), std::move(dst),
                    {.num_nodes = num_nodes(),
                     .edge_types = std::move(types),
                     .num_edge_types = typed ? std::max(num_edge_types(), type + 1) : 0,
                     .graph_offsets = copy_of(graph_offsets()),
                     .edge_offsets = std::move(offsets)});
}

IdArray Graph::with_sources(const IdArray& nodes, const IdArray& destinations) const {
  constexpr const char* where = "Graph::with_sources";
  require_nodes(where, nodes.span(), num_src());
  require_nodes(where, destinations.span(), num_dst());
  const CscView rows = csc(EdgeIds::implied);
  std::vector<std::uint8_t> marks(static_cast<std::size_t>(num_src()));
  for (const std::int32_t node : nodes) marks[static_cast<std::size_t>(node)] = 1;
  for (const std::int32_t node : destinations) {
    const auto row = static_cast<std::size_t>(node);
    for (std::int64_t at = rows.offsets[row]; at < rows.offsets[row + 1]; ++at) {
      marks[static_cast<std::size_t>(rows.indices[static_cast<std::size_t>(at)])] = 1;
    }
  }
  std::vector<std::int32_t> marked;
  for (std::size_t node = 0; node < marks.size(); ++node) {
    if (marks[node] != 0) marked.push_back(static_cast<std::int32_t>(node));
  }
  return IdArray(std::move(marked));
}

EdgeSubset Graph::block(const IdArray& sources, const IdArray& destinations) const {
  constexpr const char* where = "Graph::block";
  require_nodes(where, sources.span(), num_src());
  require_nodes(where, destinations.span(), num_dst());
  const CscView rows = csc(EdgeIds::implied);
  const std::vector<std::int64_t> offsets = row_offsets(rows, destinations.span());
  const IdBuffer source_rows = positions_of(sources, num_src());
  const IdBuffer destination_rows = positions_of(destinations, num_dst());

  IdBuffer src(offsets.back()), dst(offsets.back()), edges(offsets.back());
  for_each_row(rows, destinations.span(), offsets,
               [&](std::int32_t row, std::int64_t from, std::int64_t count, std::int64_t to) {
                 for (std::int64_t i = 0; i < count; ++i) {
                   const std::int32_t source = rows.indices[static_cast<std::size_t>(from + i)];
                   src.data()[to + i] = source_rows.span()[static_cast<std::size_t>(source)];
                   edges.data()[to + i] = edge_at(rows, from + i);
                 }
                 std::fill_n(dst.data() + to, count, destination_rows.span()[static_cast<std::size_t>(row)]);
               });
  if (const auto outside = std::ranges::find(src.span(), -1); outside != src.span().end()) {
    const std::int32_t edge = edges.span()[static_cast<std::size_t>(outside - src.span().begin())];
    throw GraphError(where, fmt::format("edge {} comes from node {}, which is not among the sources", edge,
                                        coo().src[static_cast<std::size_t>(edge)]));
  }
  IdArray edge_ids(std::move(edges));
  Graph part = Graph::bipartite(std::move(src), std::move(dst),
                                {.num_src = sources.size(),
                                 .num_dst = destinations.size(),
                                 .edge_types = gather(edge_types(), edge_ids.span()),
                                 .num_edge_types = num_edge_types()});
  return {std::move(part), std::move(edge_ids)};
}

}  // namespace bough
