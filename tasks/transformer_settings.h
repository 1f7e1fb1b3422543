#pragma once

#include <vector>

#include "bough/core/config.h"
#include "bough/nn/graph_transformer.h"
#include "bough/nn/input_layer.h"

/// The keys of "model" that describe a graph transformer and its inputs, the same for every task.
namespace bough::tasks {

/// What experiments have if they say nothing: pre-norm, unlike in C++, because they compare patterns at one learning
/// rate and a short warm-up.
nn::GraphTransformerOptions default_transformer();

/// Layers, inputs and "output_dropout"; without what the graph decides or what follows from the rest.
std::vector<Parameter> transformer_parameters();

/// ConfigError unless dim is a multiple of heads.
void check_transformer(const Settings& model);

/// Of tokens at positions 0 .. max_length-1. What settings of an earlier version lack keeps its default.
nn::InputLayerOptions input_layer_options(const Settings& model, std::int64_t max_length);

/// For the graphs of a generator of up to max_length tokens.
nn::GraphTransformerOptions transformer_options(const Settings& model, const GraphGenerator& generator,
                                                std::int64_t max_length);

/// Floating-point operations of the layers in one forward pass: four projections and the feed-forward part of each node
/// that is computed; q.k, q.r and p.v of each edge that is followed. Both are counted over all layers.
double layer_operations(const nn::GraphTransformerLayerOptions& layer, double nodes, double edges);

/// ConfigError if the parameters of such layers, with gradients and two moments each, need more than the memory that is
/// free: the kernel ends programs that ask for more without a word.
void require_memory_for(const Settings& model, Device device);

}  // namespace bough::tasks
