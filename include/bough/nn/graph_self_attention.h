#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bough/graph/attention_graph.h"
#include "bough/nn/layers.h"

namespace bough::nn {

/// Options of GraphSelfAttention.
struct GraphSelfAttentionOptions {
  /// What scores are divided by: the root of the width of a head, or of the whole model as the paper prints it.
  enum class Scale { head_dim, dim };

  std::int64_t dim = 0;             ///< width of the nodes
  std::int64_t heads = 1;           ///< divides dim
  std::int64_t num_relations = 0;   ///< rows of the table: at least the graph's edge types; 0 = no table
  bool ignore_relations = false;    ///< without a table: attend on graphs of several relations as if these were one
  Scale scale = Scale::head_dim;    ///< what scores are divided by
  bool bias = false;                ///< of the four projections
  double dropout = 0;               ///< on the attention weights, in training only
  double relation_deviation = 0.1;  ///< of the first values of the relation keys
  double output_gain = 1;           ///< of the output projection's initialisation
  std::optional<SoftSpan> soft_span = {};  ///< each head learns how far it reaches
  double initial_span = 0.25;              ///< share of the largest span where heads start, above 0 and below 1
};

/// Which of the given rows take part: int32 or int64 lists, undefined = all, in order.
struct AttentionRows {
  Tensor sources = {};       ///< rows that are attended to
  Tensor destinations = {};  ///< rows that attend
  Tensor distances = {};     ///< of each edge: what a soft span needs
};

/// Graph Self-Attention: every node attends to the sources of its in-edges, with a trained key for each relation that
/// all heads share; the heads are joined by a last projection.
///
/// Scores are q.(k + r) / sqrt(d_k). A node without in-edges gets the projection of zeros. Relation ids are the graph's
/// edge types; a table larger than the graph needs is fine, so one module serves every shorter sequence. ConfigError
/// without a table where the graph has several relations, unless these are to be ignored: most patterns know positions
/// by them alone.
class GraphSelfAttention : public Module {
 public:
  /// Makes the parameters; ConfigError unless heads divides dim.
  explicit GraphSelfAttention(const GraphSelfAttentionOptions& options);

  /// h [num_nodes, dim] -> [num_nodes, dim]; a row for every node, tokens and others. ConfigError for the graph of an
  /// attention pattern that its edges alone do not describe (see AttentionForm).
  Tensor forward(const Graph& graph, const Tensor& h) const;
  /// Sources and destinations apart, for bipartite graphs: [num_src, dim], [num_dst, dim] -> [num_dst, dim]. Queries
  /// are computed for destinations only.
  Tensor forward(const Graph& graph, const Tensor& sources, const Tensor& destinations) const;
  /// Equal groups of heads on different graphs over the same nodes.
  Tensor forward(std::span<const Graph> graphs, const Tensor& sources, const Tensor& destinations) const;
  /// Sources and destinations picked from the same rows [N, dim]. A row is projected once, however often it is picked,
  /// and not at all if it is not. Under NoGrad and with many rows, a few heads at a time, so that only
  /// their queries, keys and values exist. With recompute_cheap backward attends again instead of keeping the result.
  Tensor forward(std::span<const Graph> graphs, const Tensor& nodes, const AttentionRows& rows,
                 ActivationPolicy policy = ActivationPolicy::save_all) const;

  /// What follows the projections: queries [num_dst, dim], keys and values [num_src, dim] -> [num_dst, dim]. For
  /// decoding that keeps keys and values. Distances as in AttentionRows.
  Tensor attend(std::span<const Graph> graphs, Tensor queries, Tensor keys, Tensor values,
                const Tensor& distances = {}) const;

  /// The weights with which forward attends, for looking at: for each graph [E, heads of its group] in edge order,
  /// without dropout and without gradient.
  std::vector<Tensor> weights(std::span<const Graph> graphs, const Tensor& nodes, const AttentionRows& rows = {}) const;

  /// How far each head reaches now: z in (0, max_span). ConfigError without a soft span.
  std::vector<double> spans() const;
  /// The mean of z over the heads, with gradient: what to add to the loss, times a small factor. ConfigError without a
  /// soft span.
  Tensor span_penalty() const;

  /// What queries times keys are multiplied by.
  double score_scale() const;
  /// clip((ramp + z - distance) / ramp, 0, 1) of each head: a table [max_span + 1, heads], by distance. Undefined
  /// without a soft span.
  Tensor span_weights() const;

  /// The options it was made with.
  const GraphSelfAttentionOptions& options() const { return options_; }

  /// The four projections.
  Linear query, key, value, output;
  Tensor relation_keys;  ///< [num_relations, dim / heads], or undefined
  Tensor span_logits;    ///< [heads], z = max_span * sigmoid(logit), or undefined

 private:
  /// Heads of the queries [num_dst, heads * head_dim], joined again but not projected.
  Tensor attended(std::span<const Graph> graphs, Tensor queries, Tensor keys, Tensor values, const Tensor& distances,
                  ActivationPolicy policy = ActivationPolicy::save_all) const;
  void require_relations(std::span<const Graph> graphs) const;
  /// How many heads forward should compute together.
  std::int64_t heads_at_once(std::span<const Graph> graphs, const Tensor& nodes) const;
  /// z of each head, [heads].
  Tensor reach() const;
  /// The row of span_weights of each edge.
  Tensor edge_weights(const Tensor& distances) const;

  GraphSelfAttentionOptions options_;
};

}  // namespace bough::nn
