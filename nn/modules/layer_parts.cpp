#include "nn/modules/layer_parts.h"

namespace bough::nn {

GraphSelfAttentionOptions attention_options(const GraphTransformerLayerOptions& options, std::int64_t num_relations) {
  return {.dim = options.dim,
          .heads = options.heads,
          .num_relations = num_relations,
          .scale = options.scale,
          .bias = options.attention_bias,
          .dropout = options.attention_dropout,
          .relation_deviation = options.relation_deviation,
          .output_gain = options.output_gain,
          .soft_span = options.soft_span};
}

FeedForwardOptions feed_forward_options(const GraphTransformerLayerOptions& options) {
  return {.dim = options.dim,
          .hidden = options.feed_forward,
          .activation = options.activation,
          .bias = options.feed_forward_bias,
          .dropout = options.dropout,
          .output_gain = options.output_gain};
}

}  // namespace bough::nn
