#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/nn/graph_transformer.h"

namespace bough::nn {

/// Runs a model over a causal graph token by token, with every node computed once.
///
/// With a new token all nodes become complete that cover nothing after it; they are computed layer by layer from kept
/// keys and values. Over the whole sequence each edge is followed once a layer: O(k log n) of them a token for a
/// partition tree. Works on every causal pattern without stages, on the device of the model. The same rows as the model
/// on make_layer_schedule(graph, ...), to rounding. Memory: two rows a node and layer.
class IncrementalDecoder {
 public:
  /// The graph is that of the longest sequence: causal, of one sequence, neither bipartite nor with stages or nodes
  /// that are never updated; ConfigError otherwise, and if its soft span is not that of the model, it has more
  /// relations than the model has keys for, or groups that the heads cannot be shared out over; GraphError as
  /// graph.validate(). A model does not know for which pattern it was trained: the graph of another one with as few
  /// relations gives other rows. The model must outlive the decoder and is used as it is: without dropout only in its
  /// evaluation mode. O(nodes).
  IncrementalDecoder(const GraphTransformer& model, AttentionGraph graph);

  /// The input of the next token [1, dim] -> what the model makes of it [1, dim], without gradient. IndexError once
  /// length() tokens have been read, ShapeError for another shape.
  Tensor read(const Tensor& token);

  std::int64_t position() const { return position_; }          ///< tokens read so far
  std::int64_t length() const { return graph_.num_tokens(); }  ///< tokens that can be read
  /// Edges that the last token made it follow, in each layer.
  std::int64_t edges_followed() const { return edges_followed_; }
  /// Forgets everything.
  void restart() { position_ = 0; }

 private:
  /// The part of the graph that one token completes: from the cached nodes to the new ones.
  struct Step {
    std::vector<Graph> graphs;  ///< one, or one for each group of heads
    Tensor sources;             ///< rows of the cache whose keys and values are read
    Tensor distances;           ///< of the edges, for a learned reach; else undefined
    std::int64_t num_edges = 0;
  };

  /// Keys and values, [num_nodes, dim], of nodes in the order in which they are completed.
  struct LayerCache {
    Tensor keys, values;
  };

  /// What a token completes: itself, then the nodes that cover nothing after it.
  std::span<const std::int32_t> completed_by(std::int64_t token) const;
  Step step_for(std::span<const std::int32_t> nodes);
  /// One layer on the new nodes: keeps what others will read of them and returns what they become.
  Tensor update(std::int64_t layer, const Step& step, const Tensor& h);

  const GraphTransformer* model_;
  AttentionGraph graph_;
  std::vector<Graph> graphs_;
  std::vector<std::int32_t> order_;      ///< nodes in the order in which they are completed
  std::vector<std::int64_t> begin_;      ///< where those that a token completes begin in it, and its end
  std::vector<std::int32_t> cached_at_;  ///< by node: where it is in the order
  std::vector<LayerCache> caches_;       ///< by layer
  Tensor starts_;                        ///< what nodes that are no tokens start from, as many as a token completes
  std::vector<std::int32_t> row_of_;     ///< scratch: a node's row among the sources of a step
  std::int64_t position_ = 0;
  std::int64_t edges_followed_ = 0;
};

}  // namespace bough::nn
