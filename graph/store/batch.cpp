#include "bough/graph/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"

namespace bough {
namespace {

/// Where the parts of all graphs begin in the union, parts of batches among them included.
struct UnionOffsets {
  std::vector<std::int64_t> src{0};
  std::vector<std::int64_t> dst{0};
  std::vector<std::int64_t> edges{0};
};

void append(std::vector<std::int64_t>& offsets, std::span<const std::int64_t> more) {
  const std::int64_t base = offsets.back();
  for (std::size_t i = 1; i < more.size(); ++i) offsets.push_back(base + more[i]);
}

/// What all graphs have in common; GraphError if they do not.
struct Kind {
  bool bipartite = false;
  bool typed = false;
  std::int64_t num_edge_types = 0;
};

Kind common_kind(std::span<const Graph> graphs) {
  Kind kind;
  bool some_untyped = false;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const Graph& graph = graphs[i];
    if (i > 0 && graph.is_bipartite() != kind.bipartite) {
      throw GraphError("batch", fmt::format("graph {} is {}bipartite, unlike those before it", i,
                                            graph.is_bipartite() ? "" : "not "));
    }
    kind.bipartite = graph.is_bipartite();
    if (graph.num_edges() > 0) (graph.edge_types().empty() ? some_untyped : kind.typed) = true;
    if (kind.typed && some_untyped) {
      throw GraphError("batch", fmt::format("graph {} {} edge types, unlike those before it", i,
                                            graph.edge_types().empty() ? "has no" : "has"));
    }
    kind.num_edge_types = std::max(kind.num_edge_types, graph.num_edge_types());
  }
  return kind;
}

void add_shifted(std::span<const std::int32_t> from, std::int64_t shift, std::int32_t* to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] + static_cast<std::int32_t>(shift);
}

IdArray shifted_slice(std::span<const std::int32_t> ids, std::int64_t begin, std::int64_t end, std::int64_t shift) {
  IdBuffer part(end - begin);
  add_shifted(ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), shift, part.data());
  return IdArray(std::move(part));
}

}  // namespace

Graph batch(std::span<const Graph> graphs) {
  const Kind kind = common_kind(graphs);
  UnionOffsets parts;
  std::vector<std::int64_t> src_base, dst_base, edge_base;
  for (const Graph& graph : graphs) {
    src_base.push_back(parts.src.back());
    dst_base.push_back(parts.dst.back());
    edge_base.push_back(parts.edges.back());
    append(parts.src, graph.src_offsets());
    append(parts.dst, graph.dst_offsets());
    append(parts.edges, graph.edge_offsets());
  }
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  if (parts.src.back() > limit || parts.dst.back() > limit || parts.edges.back() > limit) {
    throw GraphError("batch", fmt::format("at most {} nodes and edges, but the union has {} sources, {} destinations "
                                          "and {} edges",
                                          limit, parts.src.back(), parts.dst.back(), parts.edges.back()));
  }

  const std::int64_t num_edges = parts.edges.back();
  IdBuffer src(num_edges), dst(num_edges), types(kind.typed ? num_edges : 0);
  const auto count = static_cast<std::int64_t>(graphs.size());
  parallel_chunks(count, rows_per_chunk(num_edges / std::max<std::int64_t>(1, count) + 1),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                      const CooView coo = graphs[i].coo();
                      add_shifted(coo.src, src_base[i], src.data() + edge_base[i]);
                      add_shifted(coo.dst, dst_base[i], dst.data() + edge_base[i]);
                      add_shifted(graphs[i].edge_types(), 0, types.data() + (kind.typed ? edge_base[i] : 0));
                    }
                  });
  if (kind.bipartite) {
    const std::int64_t num_src = parts.src.back();
    const std::int64_t num_dst = parts.dst.back();
    return Graph::bipartite(std::move(src), std::move(dst),
                            {.num_src = num_src,
                             .num_dst = num_dst,
                             .edge_types = std::move(types),
                             .num_edge_types = kind.num_edge_types,
                             .src_offsets = std::move(parts.src),
                             .dst_offsets = std::move(parts.dst),
                             .edge_offsets = std::move(parts.edges)});
  }
  const std::int64_t num_nodes = parts.src.back();
  return Graph::from_edges(std::move(src), std::move(dst),
                           {.num_nodes = num_nodes,
                            .edge_types = std::move(types),
                            .num_edge_types = kind.num_edge_types,
                            .graph_offsets = std::move(parts.src),
                            .edge_offsets = std::move(parts.edges)});
}

std::vector<Graph> unbatch(const Graph& graph) {
  std::vector<Graph> parts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(graph.num_graphs()); ++i) {
    const std::int64_t begin = graph.edge_offsets()[i];
    const std::int64_t end = graph.edge_offsets()[i + 1];
    const std::int64_t first_src = graph.src_offsets()[i];
    const std::int64_t first_dst = graph.dst_offsets()[i];
    IdArray src = shifted_slice(graph.coo().src, begin, end, -first_src);
    IdArray dst = shifted_slice(graph.coo().dst, begin, end, -first_dst);
    IdArray types = graph.edge_types().empty() ? IdArray() : shifted_slice(graph.edge_types(), begin, end, 0);
    const std::int64_t num_src = graph.src_offsets()[i + 1] - first_src;
    const std::int64_t num_dst = graph.dst_offsets()[i + 1] - first_dst;
    if (graph.is_bipartite()) {
      parts.push_back(Graph::bipartite(std::move(src), std::move(dst),
                                       {.num_src = num_src,
                                        .num_dst = num_dst,
                                        .edge_types = std::move(types),
                                        .num_edge_types = graph.num_edge_types()}));
    } else {
      parts.push_back(Graph::from_edges(
          std::move(src), std::move(dst),
          {.num_nodes = num_src, .edge_types = std::move(types), .num_edge_types = graph.num_edge_types()}));
    }
  }
  return parts;
}

}  // namespace bough
