#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "bough/graph/ids.h"

namespace bough {

class GraphStructure;

/// The edges in the order given: edge e goes from src[e] to dst[e].
struct CooView {
  std::span<const std::int32_t> src;  ///< sources
  std::span<const std::int32_t> dst;  ///< destinations
};

/// The edges grouped by one end. Row r holds positions offsets[r] .. offsets[r+1]-1; indices are the other ends and
/// edge_ids the numbers of the edges in the order given. Inside a row the other ends ascend, and edges between the same
/// two nodes keep their order.
struct CompressedView {
  std::span<const std::int64_t> offsets;   ///< one more than there are rows
  std::span<const std::int32_t> indices;   ///< the other ends
  std::span<const std::int32_t> edge_ids;  ///< numbers of the edges; may be empty, see EdgeIds
  /// True if position p holds edge p, so that edge features can be read without edge_ids.
  bool in_edge_order = false;

  /// Rows, edges, and edges of one row.
  std::int64_t num_rows() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t num_edges() const { return static_cast<std::int64_t>(indices.size()); }
  std::int64_t degree(std::int64_t row) const {
    return offsets[static_cast<std::size_t>(row) + 1] - offsets[static_cast<std::size_t>(row)];
  }
};
using CsrView = CompressedView;  ///< rows are sources, indices destinations
using CscView = CompressedView;  ///< rows are destinations, indices sources

/// Whether a compressed view must list edge_ids even where they are 0, 1, 2, ...
enum class EdgeIds {
  listed,   ///< always one id for each edge
  implied,  ///< empty where in_edge_order; saves 4 bytes an edge for graphs given sorted
};

/// What Graph::from_edges takes beside the edges.
struct EdgeListOptions {
  std::optional<std::int64_t> num_nodes = {};       ///< default: largest id + 1
  IdArray edge_types = {};                          ///< relation id of each edge, >= 0; none: an untyped graph
  std::optional<std::int64_t> num_edge_types = {};  ///< default: largest type + 1
  /// Describes a disjoint union made in one go: graph i has the nodes graph_offsets[i] .. graph_offsets[i+1]-1 and the
  /// edges edge_offsets[i] .. edge_offsets[i+1]-1, which stay among its nodes. None: one graph.
  std::vector<std::int64_t> graph_offsets = {};
  std::vector<std::int64_t> edge_offsets = {};
};

/// What Graph::bipartite takes beside the edges.
struct BipartiteOptions {
  std::optional<std::int64_t> num_src = {};         ///< default: largest source id + 1
  std::optional<std::int64_t> num_dst = {};         ///< default: largest destination id + 1
  IdArray edge_types = {};                          ///< as above
  std::optional<std::int64_t> num_edge_types = {};  ///< as above
  std::vector<std::int64_t> src_offsets = {};       ///< a disjoint union, as above
  std::vector<std::int64_t> dst_offsets = {};       ///< of the destinations
  std::vector<std::int64_t> edge_offsets = {};      ///< of the edges
};

/// What Graph::from_csr and from_csc take beside offsets and indices.
struct CompressedOptions {
  std::optional<std::int64_t> num_others = {};      ///< given: a bipartite graph with so many nodes at the other end
  IdArray edge_ids = {};                            ///< number of the edge at each position; none: 0, 1, 2, ...
  IdArray edge_types = {};                          ///< by edge number
  std::optional<std::int64_t> num_edge_types = {};  ///< default: largest type + 1
};

/// Edges of some nodes, those of the first node asked for first: edges offsets[i] .. offsets[i+1]-1 belong to node i of
/// the question.
struct EdgeSelection {
  std::vector<std::int64_t> offsets;   ///< where the edges of each node begin
  std::vector<std::int32_t> edge_ids;  ///< numbers of the edges
  std::vector<std::int32_t> src;       ///< their sources
  std::vector<std::int32_t> dst;       ///< their destinations
};

/// One of the two ends of an edge.
enum class EdgeEnd { source, destination };

/// Which loops Graph::add_self_loops adds.
struct SelfLoopOptions {
  std::optional<std::int64_t> edge_type = {};  ///< of the loops in a typed graph; default: a new one, num_edge_types()
  bool only_missing = false;                   ///< spare nodes that have a loop already
};

/// Which edges Graph::simplify takes for the same.
struct SimplifyOptions {
  bool merge_types = false;  ///< edges of different types between the same nodes are one; the first gives the type
};

struct EdgeSubset;
struct SimplifiedGraph;

/// A directed graph: an immutable handle that is cheap to copy and safe to use from several threads.
///
/// Multi-edges and self-loops are allowed. A bipartite graph has separate sets of sources and destinations, each
/// numbered from 0; otherwise both are the one set of nodes. Edges keep the numbers 0..E-1 in which they were given,
/// and every array with one row per edge is in that order. At most 2^31-1 nodes and edges; no nodes and no edges are
/// fine. Everything is checked once, when the graph is made: GraphError names the edge and the value.
///
/// CSR and CSC are built when first asked for: in parallel, once, with the same result for any number of threads. A
/// graph whose edges come sorted by destination, then source, needs no copy for CSC: indices are the given sources.
class Graph {
 public:
  /// No nodes, no edges.
  Graph();

  /// Vectors, spans and tensors of int32 or int64; vectors of int32 and IdBuffers that are moved in are not copied.
  /// O(E).
  static Graph from_edges(IdArray src, IdArray dst, EdgeListOptions options = {});
  static Graph bipartite(IdArray src, IdArray dst, BipartiteOptions options = {});
  /// Rows are sources (csr) or destinations (csc), indices the other ends, in any order inside a row. Offsets start at
  /// 0, never descend and end at the number of indices; edge_ids is a permutation. GraphError otherwise. O(E).
  static Graph from_csr(std::span<const std::int64_t> offsets, IdArray indices, CompressedOptions options = {});
  static Graph from_csc(std::span<const std::int64_t> offsets, IdArray indices, CompressedOptions options = {});

  /// Whether sources and destinations are different sets.
  bool is_bipartite() const;
  /// Number of nodes. GraphError for a bipartite graph, which has num_src() and num_dst().
  std::int64_t num_nodes() const;
  std::int64_t num_src() const;
  std::int64_t num_dst() const;
  std::int64_t num_edges() const;

  /// The relation id of each edge in edge order; empty for an untyped graph.
  std::span<const std::int32_t> edge_types() const;
  /// One more than the largest edge type, or what was given; 0 for an untyped graph.
  std::int64_t num_edge_types() const;

  /// Views live as long as any handle to the graph.
  CooView coo() const;
  /// The edges by source, destinations ascending in each row.
  CsrView csr(EdgeIds ids = EdgeIds::listed) const;
  /// The edges by destination, sources ascending in each row.
  CscView csc(EdgeIds ids = EdgeIds::listed) const;

  /// The same edges the other way round; shares everything, formats included. O(1).
  Graph reverse() const;

  /// Number of in-edges of each destination, of out-edges of each source. As a column to divide rows by:
  ///
  ///     const Tensor degrees = Tensor::from_vector(graph.in_degrees(), {graph.num_dst(), 1});
  ///     const Tensor means = sums / cast(degrees, DType::float32);
  std::vector<std::int64_t> in_degrees() const;
  std::vector<std::int64_t> out_degrees() const;

  /// Questions about nodes; GraphError for a node that is not there. O(log degree) for each pair.
  bool has_edge(std::int64_t src, std::int64_t dst) const;
  /// All edges from src to dst, ascending.
  std::vector<std::int32_t> edges_between(std::int64_t src, std::int64_t dst) const;
  /// Edges into (out of) each of the nodes, in the order of csc (csr). O(their number).
  EdgeSelection in_edges(const IdArray& nodes) const;
  EdgeSelection out_edges(const IdArray& nodes) const;

  /// The same nodes with only the edges into (out of) some of them, in the same order. Nodes may repeat.
  EdgeSubset in_subgraph(const IdArray& nodes) const;
  EdgeSubset out_subgraph(const IdArray& nodes) const;
  /// Edges ordered by one end, then the other, then as given; a graph in that order already is returned as it is.
  EdgeSubset sort(EdgeEnd by = EdgeEnd::destination) const;
  /// One edge for all that have the same ends and type; it stands where the first of them stood.
  SimplifiedGraph simplify(SimplifyOptions options = {}) const;
  /// An edge from each node to itself, after the given edges (in a batch: after those of its graph). GraphError for a
  /// bipartite graph.
  Graph add_self_loops(SelfLoopOptions options = {}) const;

  /// What one layer of message passing needs that computes only some nodes (DGL's block). The nodes, and the sources of
  /// all edges into the destinations, ascending. O(nodes of the graph + the edges).
  IdArray with_sources(const IdArray& nodes, const IdArray& destinations) const;
  /// The edges into some nodes as a bipartite graph, between positions instead of ids: edge (s, d) goes from sources[s]
  /// to destinations[d]. Edges ordered by destination, then source; types and their number as in the whole graph. Both
  /// lists ascend. GraphError if an edge comes from a node that is not among the sources. O(nodes + the edges).
  EdgeSubset block(const IdArray& sources, const IdArray& destinations) const;

  /// The graphs of a disjoint union (see batch); one for any other graph. graph_offsets: first node of each graph, then
  /// the number of nodes; GraphError for a bipartite graph, which has src_offsets and dst_offsets.
  std::int64_t num_graphs() const;
  std::span<const std::int64_t> graph_offsets() const;
  std::span<const std::int64_t> src_offsets() const;
  std::span<const std::int64_t> dst_offsets() const;
  std::span<const std::int64_t> edge_offsets() const;

  /// Bytes of all arrays held now: the edges and the formats built so far, without cached values.
  std::int64_t memory_bytes() const;

  /// True if both handles mean the very same graph in the same direction.
  bool same_as(const Graph& other) const { return structure_ == other.structure_ && reversed_ == other.reversed_; }

  /// Something derived from this graph, made by the first caller and shared by all handles: plans, tiles, chunkings.
  /// T names what it is; several of one type differ by key. A graph and its reverse have separate ones. Other
  /// callers wait meanwhile; if make throws, the exception reaches its caller and the next one tries again. make may
  /// ask the same graph for values of other types. The values must not hold a handle to the graph, else neither is
  /// freed.
  template <typename T, typename Make>
  std::shared_ptr<const T> cached(Make&& make, std::uint64_t key = 0) const {
    return std::static_pointer_cast<const T>(cached_value(
        typeid(T), key, [&]() -> std::shared_ptr<const void> { return std::make_shared<const T>(make()); }));
  }

 private:
  explicit Graph(std::shared_ptr<const GraphStructure> structure, bool reversed = false)
      : structure_(std::move(structure)), reversed_(reversed) {}

  std::shared_ptr<const void> cached_value(const std::type_info& type, std::uint64_t key,
                                           const std::function<std::shared_ptr<const void>()>& make) const;
  /// The given edges of this graph, ascending ids, on the same nodes.
  Graph with_edges(const char* where, std::span<const std::int32_t> edges) const;

  std::shared_ptr<const GraphStructure> structure_;
  bool reversed_ = false;
};

/// Some or all edges of another graph: edge e was edge edge_ids[e] there.
struct EdgeSubset {
  Graph graph;       ///< with the nodes of the other
  IdArray edge_ids;  ///< numbers in the other
};

/// One line with the sizes and the first edges: "graph(nodes=5, edges=7, edge_types=2, 0->1, 0->2, 3->3, ...)";
/// a bipartite graph has sources and destinations instead of nodes, a batch the number of its graphs.
std::string to_string(const Graph& graph);
/// Writes to_string(graph).
std::ostream& operator<<(std::ostream& stream, const Graph& graph);

/// A graph without multi-edges, and where its edges came from.
struct SimplifiedGraph {
  Graph graph;          ///< each pair of nodes once
  IdArray edge_map;     ///< for each edge of the former graph the one it has become
  IdArray first_edges;  ///< for each edge the first of those it stands for
};

}  // namespace bough
