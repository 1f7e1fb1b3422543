#pragma once

#include "bough/core/parallel.h"
#include "bough/nn/graph_transformer.h"

/// What the layers and stacks of encoder and decoder have in common.
namespace bough::nn {

GraphSelfAttentionOptions attention_options(const GraphTransformerLayerOptions& options, std::int64_t num_relations);
FeedForwardOptions feed_forward_options(const GraphTransformerLayerOptions& options);
LayerNormOptions norm_options(const GraphTransformerLayerOptions& options);

/// ConfigError for the graph of an attention pattern whose edges alone would give another pattern.
void require_plain(const char* where, const Graph& graph);
/// The same; ShapeError unless the graph is not bipartite and h [num_nodes, ...].
void require_node_rows(const char* where, const Graph& graph, const Tensor& h);

/// function(x) of [N, dim], whose rows must not depend on each other. Under NoGrad it gets a thousand rows at
/// a time: what is wide inside stays in the cache and out of the peak. With `at_once` it gets all rows: a function that
/// draws random numbers would give other ones.
Tensor in_row_blocks(const Tensor& x, bool at_once, FunctionRef<Tensor(const Tensor&)> function);

/// A part of a layer with its residual connection: norm(x + dropout(part(read))) or, with pre_norm,
/// x + dropout(part(norm(read))), where x are the rows of `read` that the part updates: an index tensor, undefined =
/// all. `read` that is moved in is freed as early as possible.
Tensor residual(const LayerNorm& norm, const Dropout& dropout, bool pre_norm, Tensor read, const Tensor& rows,
                FunctionRef<Tensor(const Tensor&)> part, ActivationPolicy policy = ActivationPolicy::save_all);

/// ConfigError unless the schedule is that of so many layers, ShapeError unless tokens are [num_tokens, dim].
void require_inputs(const char* where, const LayerSchedule& schedule, std::int64_t layers, std::int64_t dim,
                    const Tensor& tokens);

/// The live rows before the first step: the tokens and, if there are other nodes, the row they share: start, or zeros
/// where that is undefined.
Tensor first_rows(const LayerSchedule& schedule, const Tensor& tokens, const Tensor& start);

}  // namespace bough::nn
