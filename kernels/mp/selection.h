#pragma once

#include <span>
#include <vector>

#include "bough/graph/graph.h"
#include "bough/mp/batches.h"
#include "kernels/mp/row_ids.h"

namespace bough::mp {

/// Edges that send and nodes that receive, as a graph of their own: from all sources of the frame to the receivers,
/// which are numbered by their place among them.
struct Selection {
  Graph graph;
  RowIds edge_ids;   ///< the frame's number of each edge; undefined: all of them in order
  RowIds receivers;  ///< the frame's number of each receiver; undefined: all of them in order
};

/// GraphError naming the first number that is not below `count` or appears twice. O(n log n).
void require_distinct(std::string_view where, std::string_view what, const IdArray& ids, std::int64_t count);

Selection select_all(const Graph& graph);
/// All in-edges of some nodes.
Selection select_into(const Graph& graph, const IdArray& nodes);
/// Some edges, received by their destinations in ascending order.
Selection select_edges(const Graph& graph, const IdArray& edges);

/// What a function of the user's own gave: ConfigError if that is nothing, ShapeError unless every field has `count`
/// rows, one for each of the things it was asked about.
void require_rows(std::string_view where, const Fields& fields, std::int64_t count, std::string_view things);

}  // namespace bough::mp
