#pragma once

#include <vector>

#include "bough/graph/graph.h"

namespace bough {

/// One round of message passing on a part of a graph.
struct LayerView {
  /// Bipartite, from `sources` to `destinations`, edges ordered by destination, then source; types and their number as
  /// in the whole graph. If nothing can be left out it is the whole graph itself, with its cached plans.
  Graph graph;
  IdArray sources;           ///< nodes whose values the layer reads, ascending; the destinations are among them
  IdArray destinations;      ///< nodes whose values it computes, ascending
  IdArray destination_rows;  ///< where each destination stands in sources: the residual connection needs it
  IdArray edge_ids;          ///< edges of the whole graph
};

/// What has to be computed so that some nodes come out as if everything had been.
struct NeededNodes {
  /// First layer first; the destinations of each layer are the sources of the next, those of the last the read-out.
  /// Layers that need the same nodes share one view.
  std::vector<LayerView> layers;
  IdArray readout_rows;  ///< where each read-out node, in the order asked for, stands in the last destinations
};

/// The nodes, and the sources of all edges into the destinations, ascending. O(nodes of the graph + the edges).
IdArray nodes_and_sources(const Graph& graph, const IdArray& nodes, const IdArray& destinations);

/// The edges into some nodes as a bipartite graph, between positions instead of ids: edge (s, d) goes from sources[s]
/// to destinations[d]. Edges ordered by destination, then source; types and their number as in the whole graph;
/// edge_ids are edges of the whole graph. Both lists ascend. GraphError if an edge comes from a node that is not among
/// the sources. O(nodes + the edges).
EdgeSubset edges_between(const Graph& graph, const IdArray& sources, const IdArray& destinations);

}  // namespace bough
