#pragma once

#include <span>

#include "bough/graph/graph.h"
#include "bough/nn/layers.h"

namespace bough::nn {

struct GraphSelfAttentionOptions {
  /// What scores are divided by: the root of the width of a head, or of the whole model as the paper prints it.
  enum class Scale { head_dim, dim };

  std::int64_t dim = 0;
  std::int64_t heads = 1;          ///< divides dim
  std::int64_t num_relations = 0;  ///< at least the graph's edge types; 0 = relations are ignored
  Scale scale = Scale::head_dim;
  bool bias = false;                ///< of the four projections
  double dropout = 0;               ///< on the attention weights, in training only
  double relation_deviation = 0.1;  ///< of the first values of the relation keys
  double output_gain = 1;           ///< of the output projection's initialisation
};

/// Graph Self-Attention: every node attends to the sources of its in-edges, with a trained key for each relation that
/// all heads share; the heads are joined by a last projection.
///
/// Scores are q.(k + r) / sqrt(d_k). A node without in-edges gets the projection of zeros. Relation ids are the graph's
/// edge types; a table larger than the graph needs is fine, so one module serves every shorter sequence.
class GraphSelfAttention : public Module {
 public:
  explicit GraphSelfAttention(const GraphSelfAttentionOptions& options);

  /// h [num_nodes, dim] -> [num_nodes, dim].
  Tensor forward(const Graph& graph, const Tensor& h) const;
  /// Sources and destinations apart, for bipartite graphs: [num_src, dim], [num_dst, dim] -> [num_dst, dim]. Queries
  /// are computed for destinations only.
  Tensor forward(const Graph& graph, const Tensor& sources, const Tensor& destinations) const;
  /// Equal groups of heads on different graphs over the same nodes.
  Tensor forward(std::span<const Graph> graphs, const Tensor& sources, const Tensor& destinations) const;

  const GraphSelfAttentionOptions& options() const { return options_; }

  Linear query, key, value, output;
  Tensor relation_keys;  ///< [num_relations, dim / heads], or undefined

 private:
  GraphSelfAttentionOptions options_;
};

}  // namespace bough::nn
