#include "tasks/language_model/character_model.h"

#include <cmath>

#include "bough/ops/arithmetic.h"

namespace bough {

CharacterModel::CharacterModel(const CharacterModelOptions& options)
    : options_(options),
      embedding_({.count = options.vocabulary, .dim = options.layer.dim}),
      transformer_({.layers = options.layers,
                    .layer = options.layer,
                    .stages = options.stages,
                    .checkpoint_layers = options.checkpoint_layers}) {
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

Tensor CharacterModel::forward(const TokenGraph& graph, const Tensor& characters) const {
  return scores(transformer_.forward(graph.rounds(), embed(characters)));
}

std::vector<Tensor> CharacterModel::forward_every_layer(const TokenGraph& graph, const Tensor& characters) const {
  std::vector<Tensor> result;
  const auto below = [&](std::int64_t, const Tensor& states) { result.push_back(scores(transformer_.finish(states))); };
  result.push_back(scores(transformer_.forward(graph.rounds(), embed(characters), {.after_layer = below})));
  return result;
}

}  // namespace bough
