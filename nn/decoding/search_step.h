#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/nn/decoding.h"

/// What all searches do in each step.
namespace bough::nn {

/// ConfigError or ShapeError unless limits and first tokens are such as a search of this scorer can begin with; else
/// the largest length of each sequence.
std::vector<std::int64_t> checked_lengths(const char* where, const NextTokenScorer& scorer,
                                          std::span<const std::int32_t> first_tokens, const SearchLimits& limits);

/// Scores on the CPU, as they came and as logarithms of probabilities.
struct StepScores {
  Tensor scores, log_probabilities;

  std::int64_t vocabulary() const { return scores.size(1); }
  std::span<const float> row(std::size_t i) const { return row_of(scores, i); }
  std::span<const float> log_probabilities_of(std::size_t i) const { return row_of(log_probabilities, i); }

 private:
  static std::span<const float> row_of(const Tensor& rows, std::size_t i) {
    const auto width = static_cast<std::size_t>(rows.size(1));
    return rows.span<float>().subspan(i * width, width);
  }
};

/// Has the scorer read a token for each hypothesis. ShapeError for scores of another shape, Error for NaN or +infinity
/// among them, ConfigError if there is no such token as the end.
StepScores score_step(const char* where, NextTokenScorer& scorer, std::span<const std::int32_t> tokens,
                      const SearchLimits& limits);

}  // namespace bough::nn
