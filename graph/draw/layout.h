#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bough/graph/attention_graph.h"
#include "bough/graph/draw.h"

namespace bough {

/// Where a node stands: a bar over the tokens it covers. Columns are positions of tokens, rows grow upwards from the
/// tokens' row 0; what lies before the sequence or feeds it stands in rows below.
struct NodeBox {
  double begin = 0;
  double end = 0;
  int row = 0;
};

struct Layout {
  std::vector<NodeBox> nodes;
  std::vector<NodeBox> sources;  ///< of a bipartite graph; else empty
  double first_column = 0;
  double end_column = 0;
  int lowest_row = 0;
  int highest_row = 0;
};

/// Boxes that never overlap: nodes of one level share a row as long as they fit side by side.
Layout lay_out(const AttentionGraph& graph);

/// The node whose sources are shown at first. GraphError if it does not exist or the picture would be too large.
std::int32_t chosen_node(const AttentionGraph& graph, const DrawOptions& options);

std::string title_of(const AttentionGraph& graph, const DrawOptions& options);

/// "token 3", "span of tokens 4 to 7 (level 2)", "relay 12".
std::string describe_node(const AttentionGraph& graph, std::int32_t node);
/// The same for the node an edge starts at, which is of another set in bipartite graphs.
std::string describe_source(const AttentionGraph& graph, std::int32_t source);

/// The level of a node an edge starts at: how coarse it is.
std::int32_t source_level(const AttentionGraph& graph, std::int32_t source);

}  // namespace bough
