#pragma once

#include <memory>
#include <vector>

#include "bough/graph/needed_nodes.h"
#include "bough/nn/graph_self_attention.h"
#include "bough/nn/layers.h"

namespace bough::nn {

struct GraphTransformerLayerOptions {
  std::int64_t dim = 0;
  std::int64_t heads = 1;
  std::int64_t feed_forward = 0;  ///< width of the hidden layer
  std::int64_t num_relations = 0;
  bool pre_norm = false;  ///< normalise what goes into each part instead of each sum
  Activation activation = Activation::relu;
  bool attention_bias = false;
  bool feed_forward_bias = true;
  double dropout = 0;            ///< on the results of attention and feed-forward, and inside the latter
  double attention_dropout = 0;  ///< on the attention weights
  GraphSelfAttentionOptions::Scale scale = GraphSelfAttentionOptions::Scale::head_dim;
  double relation_deviation = 0.1;
  double output_gain = 1;  ///< of the last projection of each part; 1 / sqrt(2 layers) keeps deep sums level
};

/// One layer: Z = norm(H + attention(H)), H' = norm(Z + feed_forward(Z)), as the paper has it; or, with pre_norm,
/// Z = H + attention(norm(H)), H' = Z + feed_forward(norm(Z)).
class GraphTransformerLayer : public Module {
 public:
  explicit GraphTransformerLayer(const GraphTransformerLayerOptions& options);

  /// h [num_nodes, dim] -> [num_nodes, dim].
  Tensor forward(const Graph& graph, const Tensor& h) const;
  /// On a part of a graph: rows of view.sources -> rows of view.destinations.
  Tensor forward(const LayerView& view, const Tensor& sources) const;

  GraphSelfAttention attention;
  FeedForward feed_forward;
  LayerNorm attention_norm, feed_forward_norm;

 private:
  Tensor run(const Graph& graph, const Tensor& sources, const Tensor& rows) const;

  Dropout dropout_;
  bool pre_norm_;
};

struct GraphTransformerOptions {
  std::int64_t layers = 1;
  GraphTransformerLayerOptions layer = {};
};

/// A stack of layers over one graph; with pre_norm a last normalisation follows.
class GraphTransformer : public Module {
 public:
  explicit GraphTransformer(const GraphTransformerOptions& options);

  /// h [num_nodes, dim] -> [num_nodes, dim].
  Tensor forward(const Graph& graph, const Tensor& h) const;
  /// Only what is read is computed: h holds the rows of needed.layers.front().sources; the result the read-out nodes in
  /// the order asked for. The same as those rows of the full result, to rounding. ConfigError if the number of layers
  /// differs.
  Tensor forward(const NeededNodes& needed, const Tensor& h) const;

  std::int64_t num_layers() const { return static_cast<std::int64_t>(layers_.size()); }
  GraphTransformerLayer& layer(std::int64_t index) { return *layers_.at(static_cast<std::size_t>(index)); }

 private:
  Tensor finish(const Tensor& h) const { return final_norm_ == nullptr ? h : final_norm_->forward(h); }

  std::vector<std::unique_ptr<GraphTransformerLayer>> layers_;
  std::unique_ptr<LayerNorm> final_norm_;
};

/// Rows of h that an id array names, as gather_rows takes them.
Tensor index_tensor(const IdArray& ids);

}  // namespace bough::nn
