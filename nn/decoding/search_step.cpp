#include "nn/decoding/search_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/ops/softmax.h"

namespace bough::nn {

std::vector<std::int64_t> checked_lengths(const char* where, const NextTokenScorer& scorer,
                                          std::span<const std::int32_t> first_tokens, const SearchLimits& limits) {
  const auto sequences = static_cast<std::size_t>(scorer.size());
  if (first_tokens.size() != sequences) {
    throw ShapeError(where, fmt::format("there are {} first tokens for the {} hypotheses of the scorer",
                                        first_tokens.size(), sequences));
  }
  if (!limits.max_lengths.empty() && limits.max_lengths.size() != sequences) {
    throw ShapeError(where, fmt::format("max_lengths has {} entries for {} sequences; give one for each, or none",
                                        limits.max_lengths.size(), sequences));
  }
  std::vector<std::int64_t> lengths = limits.max_lengths;
  if (lengths.empty()) lengths.assign(sequences, limits.max_length);
  const std::int64_t shortest = sequences == 0 ? 0 : *std::ranges::min_element(lengths);
  if (limits.min_length < 0 || shortest < 0) {
    throw ConfigError(where, fmt::format("lengths must not be negative, min_length is {}, a max_length {}",
                                         limits.min_length, shortest));
  }
  if (sequences > 0 && scorer.room() < 1) {
    throw ConfigError(where, "a hypothesis of the scorer has read as many tokens as it can; give it a longer graph");
  }
  // The last token of a result is read to score the end, if there is one.
  const std::int64_t most = sequences == 0 ? 0 : scorer.room() - (limits.end_of_sentence < 0 ? 0 : 1);
  for (std::int64_t& length : lengths) length = std::min(length, most);
  return lengths;
}

StepScores score_step(const char* where, NextTokenScorer& scorer, std::span<const std::int32_t> tokens,
                      const SearchLimits& limits) {
  const NoGrad no_grad;
  const Tensor scores = scorer.score(tokens);
  if (scores.rank() != 2 || scores.size(0) != std::ssize(tokens) || scores.size(1) < 1) {
    throw ShapeError(where, fmt::format("scores must be [{}, vocabulary], a row for each hypothesis; they are {}",
                                        tokens.size(), to_string(scores.shape())));
  }
  if (limits.end_of_sentence >= scores.size(1)) {
    throw ConfigError(where, fmt::format("end_of_sentence is {}, but there are scores of {} tokens",
                                         limits.end_of_sentence, scores.size(1)));
  }
  StepScores step{scores.to(Device::cpu()), log_softmax(scores).to(Device::cpu())};
  // NaN and +infinity make the whole row NaN.
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!std::isnan(step.log_probabilities_of(i)[0])) continue;
    throw Error(where, fmt::format("the model gave NaN or an infinity as score of a token after token {}; its "
                                   "parameters, or what it reads, are damaged",
                                   tokens[i]));
  }
  return step;
}

}  // namespace bough::nn
