#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/decoding.h"
#include "nn/decoding/search_step.h"

namespace bough::nn {
namespace {

constexpr const char* sampling = "sampling";

/// Uniform in [0, 1) with 53 bits: a pure function of seed, sequence and step.
double uniform_number(std::uint64_t seed, std::uint64_t sequence, std::int64_t step) {
  const auto bits = RandomStream{seed, static_cast<std::uint64_t>(step)}.block(sequence);
  return static_cast<double>(std::uint64_t{bits[0]} << 21 | bits[1] >> 11) * 0x1p-53;
}

/// Tokens that top_k and top_p leave, in the order of their ids; all of them where these leave all.
std::vector<std::int32_t> candidates(std::span<const double> weights, const SamplingOptions& options) {
  std::vector<std::int32_t> tokens(weights.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const bool few = options.top_k > 0 && options.top_k < std::ssize(tokens);
  if (!few && options.top_p >= 1) return tokens;
  const auto weight = [&](std::int32_t token) { return weights[static_cast<std::size_t>(token)]; };
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return weight(a) != weight(b) ? weight(a) > weight(b) : a < b;
  };
  if (few) {
    std::ranges::nth_element(tokens, tokens.begin() + options.top_k, likelier);
    tokens.resize(static_cast<std::size_t>(options.top_k));
  }
  if (options.top_p < 1) {
    std::ranges::sort(tokens, likelier);
    double total = 0, reached = 0;
    for (const std::int32_t token : tokens) total += weight(token);
    std::size_t kept = 0;
    while (kept < tokens.size() && reached < options.top_p * total) reached += weight(tokens[kept++]);
    tokens.resize(std::max<std::size_t>(1, kept));
  }
  std::ranges::sort(tokens);
  return tokens;
}

}  // namespace

void check_sampling_options(const SamplingOptions& options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    throw ConfigError(sampling, fmt::format("the temperature must be at least 0, not {}", options.temperature));
  }
  if (options.top_k < 0) {
    throw ConfigError(sampling, fmt::format("top_k must be at least 1, or 0 for all; it is {}", options.top_k));
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    throw ConfigError(sampling, fmt::format("top_p must be above 0 and at most 1, not {}", options.top_p));
  }
}

std::int32_t choose_token(std::span<const float> scores, const SamplingOptions& options, double uniform) {
  check_sampling_options(options);
  const auto best = std::ranges::max_element(scores);
  const auto likeliest = static_cast<std::int32_t>(best - scores.begin());
  if (options.temperature == 0) return likeliest;
  std::vector<double> weights;
  for (const float score : scores) {
    weights.push_back(std::exp((static_cast<double>(score) - static_cast<double>(*best)) / options.temperature));
  }
  const std::vector<std::int32_t> tokens = candidates(weights, options);
  double total = 0;
  for (const std::int32_t token : tokens) total += weights[static_cast<std::size_t>(token)];
  double left = total * uniform;
  for (const std::int32_t token : tokens) {
    left -= weights[static_cast<std::size_t>(token)];
    if (left < 0) return token;
  }
  return likeliest;
}

std::vector<Hypothesis> sample(NextTokenScorer& scorer, std::span<const std::int32_t> first_tokens,
                               const SamplingOptions& options) {
  check_sampling_options(options);
  const std::vector<std::int64_t> lengths = checked_lengths(sampling, scorer, first_tokens, options.limits);
  const std::size_t count = lengths.size();
  if (!options.numbers.empty() && options.numbers.size() != count) {
    throw ShapeError(sampling, fmt::format("numbers has {} entries for {} sequences; give one for each, or none",
                                           options.numbers.size(), count));
  }
  const std::int32_t end = options.limits.end_of_sentence;
  std::vector<Hypothesis> results(count);
  std::vector<std::size_t> active;  // sequences that go on; row i of the scorer is that of active[i]
  std::vector<std::int32_t> parents, next_tokens;
  const auto keep = [&](std::size_t sequence, std::size_t row, std::int32_t token) {
    active.push_back(sequence);
    parents.push_back(static_cast<std::int32_t>(row));
    next_tokens.push_back(token);
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (end >= 0 || lengths[i] > 0) keep(i, i, first_tokens[i]);
  }
  std::vector<float> allowed;
  for (std::int64_t length = 0; !active.empty(); ++length) {
    if (parents.size() < static_cast<std::size_t>(scorer.size())) scorer.reorder(parents);
    const std::vector<std::size_t> rows = std::exchange(active, {});
    const StepScores step = score_step(sampling, scorer, std::exchange(next_tokens, {}), options.limits);
    parents.clear();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      Hypothesis& result = results[rows[row]];
      const bool forced = end >= 0 && length == lengths[rows[row]];
      std::span<const float> scores = step.row(row);
      if (end >= 0 && length < options.limits.min_length) {
        allowed.assign(scores.begin(), scores.end());
        allowed[static_cast<std::size_t>(end)] = -std::numeric_limits<float>::infinity();
        scores = allowed;
      }
      if (std::ranges::all_of(scores, [](float score) { return std::isinf(score); })) continue;
      const std::uint64_t number = options.numbers.empty() ? rows[row] : options.numbers[rows[row]];
      const std::int32_t token =
          forced ? end : choose_token(scores, options, uniform_number(options.seed, number, length));
      result.log_probability += step.log_probabilities_of(row)[static_cast<std::size_t>(token)];
      result.ended = token == end;
      if (result.ended) continue;
      result.tokens.push_back(token);
      if (options.on_token) options.on_token(rows[row], token);
      if (end >= 0 || length + 1 < lengths[rows[row]]) keep(rows[row], row, token);
    }
  }
  scorer.reorder({});
  for (Hypothesis& result : results) result.score = result.log_probability;
  return results;
}

std::vector<Hypothesis> greedy_search(NextTokenScorer& scorer, std::span<const std::int32_t> first_tokens,
                                      const SearchLimits& limits) {
  return sample(scorer, first_tokens, {.temperature = 0, .limits = limits});
}

}  // namespace bough::nn
