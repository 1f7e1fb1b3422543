#pragma once

#include "bough/nn/graph_transformer.h"

/// What layers of encoder and decoder hand on to their parts.
namespace bough::nn {

GraphSelfAttentionOptions attention_options(const GraphTransformerLayerOptions& options, std::int64_t num_relations);
FeedForwardOptions feed_forward_options(const GraphTransformerLayerOptions& options);

}  // namespace bough::nn
