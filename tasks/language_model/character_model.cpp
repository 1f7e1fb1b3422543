#include "bough/tasks/character_model.h"

#include <cmath>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/rows.h"

namespace bough {

CharacterModel::CharacterModel(const CharacterModelOptions& options)
    : options_(options),
      embedding_({.count = options.vocabulary, .dim = options.transformer.layer.dim}),
      transformer_(options.transformer) {
  add_module("embedding", embedding_);
  add_module("transformer", transformer_);
  if (options.tied) return;
  output_ = std::make_unique<nn::Linear>(
      nn::LinearOptions{.in = options.transformer.layer.dim, .out = options.vocabulary, .bias = false});
  add_module("output", *output_);
}

Tensor CharacterModel::embed(const Tensor& characters) const {
  return embedding_.forward(characters) *
         (options_.input_scale * std::sqrt(static_cast<double>(options_.transformer.layer.dim)));
}

Tensor CharacterModel::scores(const Tensor& states) const {
  return output_ == nullptr ? embedding_.project(states) : output_->forward(states);
}

Tensor CharacterModel::states(const TokenGraph& graph, const Tensor& tokens, std::vector<Tensor>* below) const {
  const auto layers = static_cast<std::size_t>(options_.transformer.layers);
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

CharacterDecoder::CharacterDecoder(const CharacterModel& model, const GraphGenerator& generator, std::int64_t length)
    : model_(&model),
      device_(model.parameters().front().device()),
      decoder_(model.transformer(), window_graph(generator, length)) {}

Tensor CharacterDecoder::read(std::int32_t character) {
  const NoGrad no_grad;
  const Tensor one = Tensor::from_vector(std::vector<std::int32_t>{character}, {1}, device_);
  return model_->scores(decoder_.read(model_->embed(one))).reshape({-1});
}

}  // namespace bough
