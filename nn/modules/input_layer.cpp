#include "bough/nn/input_layer.h"

#include <fmt/format.h>

#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"

namespace bough::nn {
namespace {

constexpr const char* input_layer_name = "input layer";

}  // namespace

InputLayer::InputLayer(const InputLayerOptions& options) : options_(options), dropout_(options.dropout) {
  if (options.block_positions < 0) {
    throw ConfigError(input_layer_name,
                      fmt::format("block_positions must not be negative, it is {}", options.block_positions));
  }
  if (uses_sinusoids(options.positions)) {
    sinusoidal = std::make_unique<SinusoidalPositions>(
        SinusoidalPositionsOptions{.max_length = options.max_length, .dim = options.dim});
    add_module("sinusoidal", *sinusoidal);
  }
  if (options.positions == Positions::learned) {
    learned = std::make_unique<LearnedPositions>(
        LearnedPositionsOptions{.max_length = options.max_length, .dim = options.dim});
    add_module("learned", *learned);
  }
  if (options.block_positions > 0) {
    blocks = std::make_unique<BlockPositions>(
        BlockPositionsOptions{.max_length = options.max_length, .stride = options.block_positions, .dim = options.dim});
    add_module("blocks", *blocks);
  }
  if (options.norm) {
    norm = std::make_unique<LayerNorm>(LayerNormOptions{.dim = options.dim, .epsilon = options.norm_epsilon});
    add_module("norm", *norm);
  }
  add_module("dropout", dropout_);
}

template <typename... Arguments>
Tensor InputLayer::positions_at(const Arguments&... arguments) const {
  Tensor total;
  const auto add = [&](const auto& positions) {
    if (positions == nullptr) return;
    const Tensor rows = positions->forward(arguments...);
    total = total.defined() ? total + rows : rows;
  };
  add(sinusoidal);
  add(learned);
  add(blocks);
  return total;
}

Tensor InputLayer::finish(const Tensor& sums) const {
  const Tensor dropped = dropout_.forward(sums);
  return norm == nullptr ? dropped : norm->forward(dropped);
}

Tensor InputLayer::forward(const Tensor& embeddings, std::int64_t length) const {
  if (embeddings.rank() != 2 || length < 1 || embeddings.size(0) % length != 0) {
    throw ShapeError(input_layer_name, fmt::format("embeddings must be rows of whole sequences of length {}, they are "
                                                   "{}",
                                                   length, to_string(embeddings.shape())));
  }
  const Tensor positions = positions_at(std::int64_t{0}, length);
  if (!positions.defined()) return finish(embeddings);
  const std::int64_t sequences = embeddings.size(0) / length, dim = embeddings.size(1);
  return finish((embeddings.reshape({sequences, length, dim}) + positions).reshape(embeddings.shape()));
}

Tensor InputLayer::forward(const Tensor& embeddings, const Tensor& positions) const {
  const Tensor added = positions_at(positions);
  return finish(added.defined() ? embeddings + added : embeddings);
}

Tensor InputLayer::forward_from(const Tensor& embeddings, std::int64_t begin) const {
  const Tensor added = positions_at(begin, begin + embeddings.size(0));
  return finish(added.defined() ? embeddings + added : embeddings);
}

}  // namespace bough::nn
