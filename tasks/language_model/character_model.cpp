#include "bough/tasks/character_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/rows.h"

namespace bough {

namespace {

constexpr const char* character_model = "character model";
constexpr const char* character_decoder = "character decoder";

nn::InputLayerOptions input_options(const CharacterModelOptions& options) {
  nn::InputLayerOptions input = options.input;
  input.dim = options.dim();
  return input;
}

CharacterModelOptions checked(CharacterModelOptions options) {
  if (!options.recurrent) return options;
  if (options.recurrent->bidirectional) {
    throw ConfigError(character_model,
                      "bidirectional cells would see the tokens that are to be predicted; use one direction");
  }
  options.recurrent->in = options.recurrent->dim;
  return options;
}

/// The graph along which recurrent layers run.
const Graph& recurrent_graph(const TokenGraph& graph) {
  const nn::LayerSchedule& schedule = graph.parts().front().schedule;
  const std::vector<Graph>& graphs = schedule.layers.front().front().graphs;
  const bool is_of_tokens = graph.parts().size() == 1 && graph.stages() == 1 && graphs.size() == 1 &&
                            !graph.soft_span() && !graphs.front().is_bipartite() &&
                            graphs.front().num_nodes() == schedule.num_tokens;
  if (is_of_tokens) return graphs.front();
  throw ConfigError(character_model,
                    "recurrent cells run along edges between tokens, and this graph has more than these; use "
                    "{\"kind\": \"chain\"}");
}

}  // namespace

CharacterModel::CharacterModel(const CharacterModelOptions& options)
    : options_(checked(options)),
      embedding_({.count = options_.vocabulary, .dim = options_.dim()}),
      input_(input_options(options_)),
      output_dropout_(options_.output_dropout) {
  add_module("embedding", embedding_);
  add_module("input", input_);
  if (options_.recurrent) {
    recurrent_ = std::make_unique<nn::RecurrentStack>(*options_.recurrent);
    add_module("recurrent", *recurrent_);
  } else {
    transformer_ = std::make_unique<nn::GraphTransformer>(options_.transformer);
    add_module("transformer", *transformer_);
  }
  add_module("output_dropout", output_dropout_);
  if (options_.tied) return;
  output_ =
      std::make_unique<nn::Linear>(nn::LinearOptions{.in = options_.dim(), .out = options_.vocabulary, .bias = false});
  add_module("output", *output_);
}

const nn::GraphTransformer& CharacterModel::transformer() const {
  if (transformer_ != nullptr) return *transformer_;
  throw ConfigError(character_model, "its layers are recurrent, it has no transformer");
}

const nn::RecurrentStack& CharacterModel::recurrent() const {
  if (recurrent_ != nullptr) return *recurrent_;
  throw ConfigError(character_model, "its layers are those of a graph transformer, it has no recurrent ones");
}

Tensor CharacterModel::embeddings(const Tensor& characters) const {
  return embedding_.forward(characters) * (options_.input_scale * std::sqrt(static_cast<double>(options_.dim())));
}

Tensor CharacterModel::embed(const TokenGraph& graph, const Tensor& characters) const {
  return input_.forward(embeddings(characters), graph.length());
}

Tensor CharacterModel::embed_at(const Tensor& characters, const Tensor& positions) const {
  return input_.forward(embeddings(characters), positions);
}

Tensor CharacterModel::scores(const Tensor& states) const {
  const Tensor read = output_dropout_.forward(states);
  return output_ == nullptr ? embedding_.project(read) : output_->forward(read);
}

LinearPart CharacterModel::output_part() const {
  return output_ == nullptr ? LinearPart{embedding_.weight} : output_->part();
}

Tensor CharacterModel::states(const TokenGraph& graph, const Tensor& tokens, nn::SegmentMemory* carried,
                              std::vector<Tensor>* below) const {
  if (recurrent_ != nullptr) return recurrent_->forward(recurrent_graph(graph), tokens);
  const auto layers = static_cast<std::size_t>(options_.transformer.layers);
  std::vector<std::vector<Tensor>> made(layers);  // by each layer, part after part
  nn::SegmentMemory within;
  nn::SegmentMemory& memory = carried == nullptr ? within : *carried;
  for (const TokenGraph::Part& part : graph.parts()) {
    nn::ForwardOptions options{.memory = &memory};
    if (below != nullptr) {
      options.after_layer = [&made](std::int64_t layer, const Tensor& readout) {
        made[static_cast<std::size_t>(layer)].push_back(readout);
      };
    }
    const Tensor own = part.rows.defined() ? gather_rows(tokens, part.rows) : tokens;
    made.back().push_back(transformer_->forward(part.schedule, own, options));
  }
  const auto joined = [&graph](const std::vector<Tensor>& parts) {
    return parts.size() == 1 ? parts.front() : gather_rows(concatenate(parts, 0), graph.order());
  };
  for (std::size_t layer = 0; below != nullptr && layer + 1 < layers; ++layer) below->push_back(joined(made[layer]));
  return joined(made.back());
}

Tensor CharacterModel::forward(const TokenGraph& graph, const Tensor& characters, nn::SegmentMemory* memory) const {
  return scores(states(graph, embed(graph, characters), memory, nullptr));
}

std::vector<Tensor> CharacterModel::forward_every_layer(const TokenGraph& graph, const Tensor& characters,
                                                        std::int64_t first, nn::SegmentMemory* memory) const {
  const nn::GraphTransformer& layers = transformer();
  if (first < 0 || first >= options_.transformer.layers) {
    throw IndexError(character_model, fmt::format("there is no layer {} of {}", first, options_.transformer.layers));
  }
  std::vector<Tensor> result;
  const Tensor last = states(graph, embed(graph, characters), memory, &result);
  result.erase(result.begin(), result.begin() + first);
  for (Tensor& below : result) below = scores(layers.finish(below));
  result.push_back(scores(last));
  return result;
}

CharacterDecoder::CharacterDecoder(const CharacterModel& model, const GraphGenerator& generator, std::int64_t length)
    : CharacterDecoder(model, window_graph(generator, length)) {}

CharacterDecoder::CharacterDecoder(const CharacterModel& model, AttentionGraph graph)
    : model_(&model),
      device_(model.parameters().front().device()),
      decoder_(decoder_of(model, std::move(graph))),
      output_({model.output_part()}) {}

CharacterDecoder::Decoder CharacterDecoder::decoder_of(const CharacterModel& model, AttentionGraph graph) {
  if (model.options().recurrent) return nn::RecurrentDecoder(model.recurrent(), std::move(graph));
  nn::BatchedDecoder decoder(model.transformer(), std::move(graph));
  decoder.add();
  return decoder;
}

std::int64_t CharacterDecoder::size() const {
  return std::visit([](const auto& decoder) { return decoder.size(); }, decoder_);
}

std::int64_t CharacterDecoder::length() const {
  return std::visit([](const auto& decoder) { return decoder.length(); }, decoder_);
}

std::int64_t CharacterDecoder::edges_followed() const {
  return std::visit([](const auto& decoder) { return decoder.edges_followed(); }, decoder_);
}

std::int64_t CharacterDecoder::room() const {
  if (const auto* recurrent = std::get_if<nn::RecurrentDecoder>(&decoder_)) return length() - recurrent->position();
  const auto& batched = std::get<nn::BatchedDecoder>(decoder_);
  std::int64_t furthest = 0;
  for (std::int64_t i = 0; i < size(); ++i) furthest = std::max(furthest, batched.position(i));
  return length() - furthest;
}

void CharacterDecoder::reorder(std::span<const std::int32_t> parents) {
  std::visit([parents](auto& decoder) { decoder.reorder(parents); }, decoder_);
}

void CharacterDecoder::restart(std::int64_t texts) {
  if (auto* recurrent = std::get_if<nn::RecurrentDecoder>(&decoder_)) return recurrent->restart(texts);
  std::get<nn::BatchedDecoder>(decoder_).clear();
  std::get<nn::BatchedDecoder>(decoder_).add(texts);
}

Tensor CharacterDecoder::states(std::span<const std::int32_t> characters, std::span<const std::int64_t> counts) {
  auto* recurrent = std::get_if<nn::RecurrentDecoder>(&decoder_);
  std::vector<std::int32_t> positions;
  for (std::int64_t i = 0; i < std::ssize(counts); ++i) {
    const std::int64_t begin =
        recurrent != nullptr ? recurrent->position() : std::get<nn::BatchedDecoder>(decoder_).position(i);
    for (std::int64_t at = begin; at < begin + counts[static_cast<std::size_t>(i)]; ++at) {
      positions.push_back(static_cast<std::int32_t>(at));
    }
  }
  const auto tensor = [this](std::span<const std::int32_t> values) {
    return Tensor::from_span(values, {std::ssize(values)}, device_);
  };
  const Tensor inputs = model_->embed_at(tensor(characters), tensor(positions));
  return recurrent != nullptr ? recurrent->read(inputs) : std::get<nn::BatchedDecoder>(decoder_).read(inputs, counts);
}

Tensor CharacterDecoder::score(std::span<const std::int32_t> characters) {
  const NoGrad no_grad;
  if (std::ssize(characters) != size()) {
    throw ShapeError(character_decoder,
                     fmt::format("there are {} characters for {} texts; each reads one", characters.size(), size()));
  }
  if (room() < 1) {
    throw IndexError(character_decoder,
                     fmt::format("a text has the longest length, {}; restart, or make a longer decoder", length()));
  }
  return output_.forward(states(characters, std::vector<std::int64_t>(characters.size(), 1)));
}

Tensor CharacterDecoder::read(std::int32_t character) { return score(std::span(&character, 1)).reshape({-1}); }

void CharacterDecoder::read(std::span<const std::vector<std::int32_t>> characters) {
  const NoGrad no_grad;
  if (std::ssize(characters) != size()) {
    throw ShapeError(character_decoder,
                     fmt::format("there are characters for {} texts of {}", characters.size(), size()));
  }
  std::vector<std::int32_t> all;
  std::vector<std::int64_t> counts;
  for (const std::vector<std::int32_t>& text : characters) {
    all.insert(all.end(), text.begin(), text.end());
    counts.push_back(std::ssize(text));
  }
  if (all.empty()) return;
  if (!std::holds_alternative<nn::RecurrentDecoder>(decoder_)) {
    states(all, counts);
    return;
  }
  for (const std::int64_t count : counts) {
    if (count == counts.front()) continue;
    throw ShapeError(character_decoder, fmt::format("recurrent layers read all texts in step; there are {} characters "
                                                    "for one and {} for another",
                                                    counts.front(), count));
  }
  for (std::size_t at = 0; at < characters.front().size(); ++at) {
    std::vector<std::int32_t> next;
    for (const std::vector<std::int32_t>& text : characters) next.push_back(text[at]);
    states(next, std::vector<std::int64_t>(characters.size(), 1));
  }
}

}  // namespace bough
