#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "bough/graph/ids.h"

namespace bough {

class GraphStructure;

/// The edges in the order given: edge e goes from src[e] to dst[e].
struct CooView {
  std::span<const std::int32_t> src;
  std::span<const std::int32_t> dst;
};

/// The edges grouped by one end. Row r holds positions offsets[r] .. offsets[r+1]-1; indices are the other ends and
/// edge_ids the numbers of the edges in the order given. Inside a row the other ends ascend, and edges between the same
/// two nodes keep their order.
struct CompressedView {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> indices;
  std::span<const std::int32_t> edge_ids;
  /// True if position p holds edge p, so that edge features can be read without edge_ids.
  bool in_edge_order = false;

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

struct EdgeListOptions {
  std::optional<std::int64_t> num_nodes = {};       ///< default: largest id + 1
  IdArray edge_types = {};                          ///< relation id of each edge, >= 0; none: an untyped graph
  std::optional<std::int64_t> num_edge_types = {};  ///< default: largest type + 1
};

struct BipartiteOptions {
  std::optional<std::int64_t> num_src = {};  ///< default: largest source id + 1
  std::optional<std::int64_t> num_dst = {};  ///< default: largest destination id + 1
  IdArray edge_types = {};
  std::optional<std::int64_t> num_edge_types = {};
};

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

  /// Vectors and IdBuffers that are moved in are not copied. O(E).
  static Graph from_edges(IdArray src, IdArray dst, EdgeListOptions options = {});
  static Graph bipartite(IdArray src, IdArray dst, BipartiteOptions options = {});

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
  /// By source, destinations ascending in each row.
  CsrView csr(EdgeIds ids = EdgeIds::listed) const;
  /// By destination, sources ascending in each row.
  CscView csc(EdgeIds ids = EdgeIds::listed) const;

  /// The same edges the other way round; shares everything, formats included. O(1).
  Graph reverse() const;

  /// Number of in-edges of each destination, of out-edges of each source.
  std::vector<std::int64_t> in_degrees() const;
  std::vector<std::int64_t> out_degrees() const;

  /// True if both handles mean the very same graph in the same direction.
  bool same_as(const Graph& other) const { return structure_ == other.structure_ && reversed_ == other.reversed_; }

  /// Something derived from this graph, made by the first caller and shared by all handles: plans, tiles, chunkings.
  /// T names what it is; several of one type are told apart by key. A graph and its reverse have separate ones. Others
  /// who ask meanwhile wait; if make throws, the exception reaches its caller and the next one tries again. make may
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

  std::shared_ptr<const GraphStructure> structure_;
  bool reversed_ = false;
};

}  // namespace bough
