#pragma once

#include "bough/graph/graph.h"
#include "bough/nn/layers.h"

namespace bough::nn {

/// Options of GatLayer.
struct GatLayerOptions {
  std::int64_t in = 0;      ///< width of the input
  std::int64_t out = 0;     ///< width of one head
  std::int64_t heads = 1;   ///< at least 1
  bool concatenate = true;  ///< heads side by side; false: their mean, as a last layer has it
  bool bias = true;         ///< added to the joined heads
  double slope = 0.2;       ///< of the leaky relu below zero, at least 0
  double dropout = 0;       ///< on the attention weights, in training only
};

/// Graph attention network (Velickovic et al., 2018). For each head, with h = x weight^T:
///
///   score(e) = leaky_relu(source_attention.h[src] + destination_attention.h[dst])
///   out[dst] = sum over the in-edges of softmax(score)(e) h[src], then the heads joined, plus bias
///
/// The graph's edge types play no part. Self-loops are the caller's affair: the paper has one at every node. A node
/// without in-edges gets the bias. O(nodes in heads out + edges heads out); the largest tensors are [edges, heads] and
/// [nodes, heads, out].
class GatLayer : public Module {
 public:
  /// Makes the parameters; ConfigError for widths that make no sense.
  explicit GatLayer(const GatLayerOptions& options);

  /// x [num_nodes, in] -> [num_nodes, heads * out], or [num_nodes, out] for the mean.
  Tensor forward(const Graph& graph, const Tensor& x) const;
  /// The same on bipartite graphs: [num_src, in], [num_dst, in] -> [num_dst, ...]; one projection serves both.
  Tensor forward(const Graph& graph, const Tensor& sources, const Tensor& destinations) const;

  Linear projection;  ///< weight [heads * out, in]
  /// [heads, out]
  Tensor source_attention, destination_attention;
  Tensor bias;  ///< [width of the result], or undefined

 private:
  GatLayerOptions options_;
  Dropout dropout_;
};

}  // namespace bough::nn
