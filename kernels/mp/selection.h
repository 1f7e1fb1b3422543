#pragma once

#include <span>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"

namespace bough::mp {

/// Edges that send and nodes that receive, as a graph of their own: from all sources of the frame to the receivers,
/// which are numbered by their place among them.
struct Selection {
  Graph graph;
  Tensor edge_ids;   ///< int32, the frame's number of each edge; undefined: all of them in order
  Tensor receivers;  ///< int32, the frame's number of each receiver; undefined: all of them in order
};

/// GraphError naming the first number that is not below `count` or appears twice. O(n log n).
void require_distinct(std::string_view where, std::string_view what, const IdArray& ids, std::int64_t count);

Selection select_all(const Graph& graph);
/// All in-edges of some nodes.
Selection select_into(const Graph& graph, const IdArray& nodes);
/// Some edges, received by their destinations in ascending order.
Selection select_edges(const Graph& graph, const IdArray& edges);

/// Rows of a feature that belong to the ids; all of them if there are none.
Tensor rows_at(const Tensor& feature, const Tensor& ids);

Tensor id_tensor(std::span<const std::int32_t> ids);

}  // namespace bough::mp
