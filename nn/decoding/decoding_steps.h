#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/graph/attention_graph.h"
#include "bough/nn/graph_transformer.h"
#include "kernels/ops/cached_attention.h"
#include "nn/decoding/row_tables.h"

namespace bough::nn {

/// What a causal graph means for decoding token by token: which nodes each token completes, and what these read.
///
/// Nodes are counted in the order in which they are completed: each token, then the nodes that cover nothing after it.
class DecodingSteps {
 public:
  /// ConfigError, in words for the user, unless a model with such layers can follow the graph; GraphError as
  /// graph.validate(). O(nodes).
  DecodingSteps(const GraphTransformerLayerOptions& layer, AttentionGraph graph);

  std::int64_t length() const { return graph_.num_tokens(); }
  /// Where the nodes that a token completes begin in the order; the token itself comes first. Of token length() the
  /// number of nodes.
  std::int64_t begin(std::int64_t token) const { return begin_[static_cast<std::size_t>(token)]; }
  std::size_t num_groups() const { return groups_.size(); }

  /// Lists the edges into a node, given by its place in the order, for each group of heads. `rows` has the row of every
  /// node it reads.
  void list_edges(std::int64_t place, const RowTables& tables, const RowTable& rows,
                  std::vector<CachedEdges>& groups) const;

 private:
  AttentionGraph graph_;
  std::vector<Graph> groups_;         ///< the graph of each group of heads
  std::vector<std::int32_t> order_;   ///< the node at each place
  std::vector<std::int64_t> begin_;   ///< by token
  std::vector<std::int32_t> places_;  ///< by node
};

}  // namespace bough::nn
