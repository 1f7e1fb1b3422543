#include "bough/nn/recurrent_stack.h"

#include <fmt/format.h>

#include "bough/core/errors.h"

namespace bough::nn {
namespace {

constexpr std::int64_t most_layers = 10'000;

/// Dim is checked by the layers, under its name there.
RecurrentStackOptions checked(const RecurrentStackOptions& options) {
  if (options.layers >= 1 && options.layers <= most_layers) return options;
  throw ConfigError("recurrent stack", fmt::format("layers must be in 1..{}, it is {}", most_layers, options.layers));
}

}  // namespace

RecurrentStack::RecurrentStack(const RecurrentStackOptions& options)
    : options_(checked(options)), dropout_(options.dropout) {
  for (std::int64_t index = 0; index < options.layers; ++index) {
    layers_.push_back(std::make_unique<Recurrent>(RecurrentOptions{.in = index == 0 ? options.in : width(),
                                                                   .out = options.dim,
                                                                   .cell = options.cell,
                                                                   .positions = options.positions,
                                                                   .depth = options.depth,
                                                                   .bidirectional = options.bidirectional}));
    add_module(fmt::format("layer{}", index), *layers_.back());
  }
  add_module("dropout", dropout_);
}

Tensor RecurrentStack::forward(const Graph& graph, const Tensor& x) const {
  Tensor h = layers_.front()->forward(graph, x);
  for (std::size_t index = 1; index < layers_.size(); ++index) {
    h = layers_[index]->forward(graph, dropout_.forward(h));
  }
  return h;
}

}  // namespace bough::nn
