#include "bough/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "bough/core/errors.h"
#include "graph/store/graph_structure.h"

namespace bough {
namespace {

std::vector<std::int64_t> degrees(const CompressedView& rows) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(rows.num_rows()));
  for (std::size_t row = 0; row < result.size(); ++row) result[row] = rows.offsets[row + 1] - rows.offsets[row];
  return result;
}

}  // namespace

Graph::Graph() : structure_(std::make_shared<const GraphStructure>("Graph", GraphParts{})) {}

Graph Graph::from_edges(IdArray src, IdArray dst, EdgeListOptions options) {
  GraphParts parts{.src = std::move(src),
                   .dst = std::move(dst),
                   .bipartite = false,
                   .num_src = options.num_nodes,
                   .num_dst = options.num_nodes,
                   .edge_types = std::move(options.edge_types),
                   .num_edge_types = options.num_edge_types,
                   .src_offsets = options.graph_offsets,
                   .dst_offsets = std::move(options.graph_offsets),
                   .edge_offsets = std::move(options.edge_offsets)};
  return Graph(std::make_shared<const GraphStructure>("Graph::from_edges", std::move(parts)));
}

Graph Graph::bipartite(IdArray src, IdArray dst, BipartiteOptions options) {
  GraphParts parts{.src = std::move(src),
                   .dst = std::move(dst),
                   .bipartite = true,
                   .num_src = options.num_src,
                   .num_dst = options.num_dst,
                   .edge_types = std::move(options.edge_types),
                   .num_edge_types = options.num_edge_types,
                   .src_offsets = std::move(options.src_offsets),
                   .dst_offsets = std::move(options.dst_offsets),
                   .edge_offsets = std::move(options.edge_offsets)};
  return Graph(std::make_shared<const GraphStructure>("Graph::bipartite", std::move(parts)));
}

bool Graph::is_bipartite() const { return structure_->bipartite; }

std::int64_t Graph::num_nodes() const {
  if (structure_->bipartite) {
    throw GraphError("Graph::num_nodes", fmt::format("a bipartite graph has two sets of nodes: use num_src() ({}) or "
                                                     "num_dst() ({})",
                                                     num_src(), num_dst()));
  }
  return structure_->num_src;
}

std::int64_t Graph::num_src() const { return reversed_ ? structure_->num_dst : structure_->num_src; }
std::int64_t Graph::num_dst() const { return reversed_ ? structure_->num_src : structure_->num_dst; }
std::int64_t Graph::num_edges() const { return structure_->src.size(); }

std::span<const std::int32_t> Graph::edge_types() const { return structure_->edge_types.span(); }
std::int64_t Graph::num_edge_types() const { return structure_->num_edge_types; }

CooView Graph::coo() const {
  const CooView given{structure_->src.span(), structure_->dst.span()};
  return reversed_ ? CooView{given.dst, given.src} : given;
}

CsrView Graph::csr(EdgeIds ids) const {
  return reversed_ ? structure_->by_destination(ids) : structure_->by_source(ids);
}
CscView Graph::csc(EdgeIds ids) const {
  return reversed_ ? structure_->by_source(ids) : structure_->by_destination(ids);
}

Graph Graph::reverse() const { return Graph(structure_, !reversed_); }

std::vector<std::int64_t> Graph::in_degrees() const { return degrees(csc(EdgeIds::implied)); }
std::vector<std::int64_t> Graph::out_degrees() const { return degrees(csr(EdgeIds::implied)); }

std::int64_t Graph::num_graphs() const { return static_cast<std::int64_t>(structure_->edge_offsets.size()) - 1; }

std::span<const std::int64_t> Graph::graph_offsets() const {
  if (structure_->bipartite) {
    throw GraphError("Graph::graph_offsets", "a bipartite graph has src_offsets() and dst_offsets()");
  }
  return structure_->src_offsets;
}

std::span<const std::int64_t> Graph::src_offsets() const {
  return reversed_ ? structure_->dst_offsets : structure_->src_offsets;
}
std::span<const std::int64_t> Graph::dst_offsets() const {
  return reversed_ ? structure_->src_offsets : structure_->dst_offsets;
}
std::span<const std::int64_t> Graph::edge_offsets() const { return structure_->edge_offsets; }

std::int64_t Graph::memory_bytes() const { return structure_->memory_bytes(); }

std::shared_ptr<const void> Graph::cached_value(const std::type_info& type, std::uint64_t key,
                                                const std::function<std::shared_ptr<const void>()>& make) const {
  return structure_->derived(reversed_).get(type, key, make);
}

std::string to_string(const Graph& graph) {
  std::string text = graph.is_bipartite()
                         ? fmt::format("graph(sources={}, destinations={}", graph.num_src(), graph.num_dst())
                         : fmt::format("graph(nodes={}", graph.num_nodes());
  text += fmt::format(", edges={}", graph.num_edges());
  if (graph.num_edge_types() > 0) text += fmt::format(", edge_types={}", graph.num_edge_types());
  if (graph.num_graphs() != 1) text += fmt::format(", graphs={}", graph.num_graphs());
  constexpr std::int64_t most_edges = 8;
  const CooView edges = graph.coo();
  for (std::size_t e = 0; e < static_cast<std::size_t>(std::min(graph.num_edges(), most_edges)); ++e) {
    text += fmt::format(", {}->{}", edges.src[e], edges.dst[e]);
  }
  return text + (graph.num_edges() > most_edges ? ", ...)" : ")");
}

std::ostream& operator<<(std::ostream& stream, const Graph& graph) { return stream << to_string(graph); }

}  // namespace bough
