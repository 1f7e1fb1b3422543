#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/nn/decoding.h"

namespace bough::nn {

DecoderScorer::DecoderScorer(BatchedDecoder& decoder, Embed embed, Project project)
    : decoder_(&decoder), embed_(std::move(embed)), project_(std::move(project)) {}

std::int64_t DecoderScorer::room() const {
  std::int64_t furthest = 0;
  for (std::int64_t i = 0; i < decoder_->size(); ++i) furthest = std::max(furthest, decoder_->position(i));
  return decoder_->length() - furthest;
}

Tensor DecoderScorer::score(std::span<const std::int32_t> tokens) {
  const NoGrad no_grad;
  if (std::ssize(tokens) != size()) {
    throw ShapeError("decoder scorer", fmt::format("there are {} tokens for {} hypotheses", tokens.size(), size()));
  }
  std::vector<std::int32_t> positions;
  for (std::int64_t i = 0; i < size(); ++i) positions.push_back(static_cast<std::int32_t>(decoder_->position(i)));
  return project_(decoder_->read(inputs(tokens, positions)));
}

void DecoderScorer::read(std::span<const std::vector<std::int32_t>> prompts) {
  const NoGrad no_grad;
  std::vector<std::int32_t> tokens, positions;
  std::vector<std::int64_t> counts;
  for (const std::vector<std::int32_t>& prompt : prompts) {
    const std::int64_t begin = std::ssize(counts) < size() ? decoder_->position(std::ssize(counts)) : 0;
    for (std::int64_t i = 0; i < std::ssize(prompt); ++i) positions.push_back(static_cast<std::int32_t>(begin + i));
    tokens.insert(tokens.end(), prompt.begin(), prompt.end());
    counts.push_back(std::ssize(prompt));
  }
  if (!tokens.empty()) decoder_->read(inputs(tokens, positions), counts);
}

Tensor DecoderScorer::inputs(std::span<const std::int32_t> tokens, std::span<const std::int32_t> positions) const {
  const auto tensor = [this](std::span<const std::int32_t> values) {
    return Tensor::from_span(values, {std::ssize(values)}, decoder_->device());
  };
  return embed_(tensor(tokens), tensor(positions));
}

}  // namespace bough::nn
