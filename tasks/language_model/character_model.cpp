#include "tasks/language_model/character_model.h"

#include <cmath>

#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/rows.h"

namespace bough {

nn::GraphTransformerOptions transformer_options(const CharacterModelOptions& options) {
  return {
      .layers = options.layers, .layer = options.layer, .stages = options.stages, .activations = options.activations};
}

CharacterModel::CharacterModel(const CharacterModelOptions& options)
    : options_(options),
      embedding_({.count = options.vocabulary, .dim = options.layer.dim}),
      transformer_(transformer_options(options)) {
  add_module("embedding", embedding_);
  add_module("transformer", transformer_);
  if (options.tied) return;
  output_ = std::make_unique<nn::Linear>(
      nn::LinearOptions{.in = options.layer.dim, .out = options.vocabulary, .bias = false});
  add_module("output", *output_);
}

Tensor CharacterModel::embed(const Tensor& characters) const {
  return embedding_.forward(characters) * (options_.input_scale * std::sqrt(static_cast<double>(options_.layer.dim)));
}

Tensor CharacterModel::scores(const Tensor& states) const {
  return output_ == nullptr ? embedding_.project(states) : output_->forward(states);
}

Tensor CharacterModel::states(const TokenGraph& graph, const Tensor& tokens, std::vector<Tensor>* below) const {
  const auto layers = static_cast<std::size_t>(options_.layers);
  std::vector<std::vector<Tensor>> made(layers);  // by each layer, part after part
  nn::SegmentMemory memory;
  for (const TokenGraph::Part& part : graph.parts()) {
    nn::ForwardOptions options{.memory = &memory};
    if (below != nullptr) {
      options.after_layer = [&made](std::int64_t layer, const Tensor& readout) {
        made[static_cast<std::size_t>(layer)].push_back(readout);
      };
    }
    const Tensor own = part.rows.defined() ? gather_rows(tokens, part.rows) : tokens;
    made.back().push_back(transformer_.forward(part.schedule, own, options));
  }
  const auto joined = [&graph](const std::vector<Tensor>& parts) {
    return parts.size() == 1 ? parts.front() : gather_rows(concatenate(parts, 0), graph.order());
  };
  for (std::size_t layer = 0; below != nullptr && layer + 1 < layers; ++layer) below->push_back(joined(made[layer]));
  return joined(made.back());
}

Tensor CharacterModel::forward(const TokenGraph& graph, const Tensor& characters) const {
  return scores(states(graph, embed(characters), nullptr));
}

std::vector<Tensor> CharacterModel::forward_every_layer(const TokenGraph& graph, const Tensor& characters) const {
  std::vector<Tensor> result;
  const Tensor last = states(graph, embed(characters), &result);
  for (Tensor& below : result) below = scores(transformer_.finish(below));
  result.push_back(scores(last));
  return result;
}

}  // namespace bough
