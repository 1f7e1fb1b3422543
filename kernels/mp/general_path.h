#pragma once

#include <memory>
#include <vector>

#include "bough/graph/graph.h"
#include "bough/mp/batches.h"
#include "kernels/mp/selection.h"

namespace bough::mp {

/// The destinations of a graph grouped by number of in-edges, so that the messages of a group are one dense block.
struct DegreeBuckets {
  struct Bucket {
    std::int64_t degree = 0;
    std::int64_t nodes = 0;
  };

  std::vector<Bucket> buckets;  ///< by ascending degree, without degree 0
  RowIds nodes;                 ///< destinations that have in-edges, bucket by bucket, ascending in each
  RowIds edge_ids;              ///< their in-edges, node by node in the order of csc
  RowIds place_of_node;         ///< for each destination its place in `nodes`; their number if it has no edges
  Graph graph;                  ///< the same nodes, with edge_ids[i] as edge i

  std::int64_t num_nodes() const { return nodes.size(); }
};

/// From the graph's cache.
std::shared_ptr<const DegreeBuckets> degree_buckets(const Graph& graph);

/// Calls a reduction of the user's own once for each number of messages that occurs.
///
/// messages have one row for each edge of the buckets, in their order; receivers are the frame's numbers of the
/// destinations, undefined if they are the same. Gives one row for each destination, zeros for those without messages.
Fields reduce_by_degree(const Frame& frame, const DegreeBuckets& buckets, const RowIds& receivers,
                        const Fields& messages, const ReduceFunction& reduce);

}  // namespace bough::mp
