#pragma once

#include <memory>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"

namespace bough::nn {

/// Rows of an earlier level.
struct LevelRows {
  std::size_t level = 0;
  Tensor rows;  ///< undefined: all of them in order, which needs no copy
};

/// The edges into the nodes of one level that are treated alike: all, or those of one position. They are ordered by the
/// level of their source, then by destination.
struct LevelEdges {
  std::vector<LevelRows> sources;  ///< one after the other, one row for each edge
  Tensor destinations;  ///< row of each edge in the level; undefined: edge i goes to node i, and all have one
};

/// Nodes whose predecessors are all in earlier levels.
struct RecurrentLevel {
  std::int64_t nodes = 0;
  std::vector<LevelEdges> positions;  ///< none in the first level
};

/// What Recurrent needs to know of a graph, on one device.
struct RecurrentLevels {
  std::vector<RecurrentLevel> levels;
  std::vector<std::int64_t> sizes;  ///< number of nodes of each level
  Tensor order;                     ///< node at each place when levels are put one after the other
  Tensor places;                    ///< the reverse: place of each node
};

/// Which edges of a graph a cell takes.
struct LevelRules {
  const char* cell = "";       ///< for messages
  std::int64_t positions = 0;  ///< 0: any number of edges into a node; else one for each position
};

/// Made when first asked for and kept with the graph. GraphError as Recurrent::forward says. O(nodes + edges).
std::shared_ptr<const RecurrentLevels> recurrent_levels(const Graph& graph, const LevelRules& rules, Device device);

}  // namespace bough::nn
