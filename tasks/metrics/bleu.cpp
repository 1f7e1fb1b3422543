#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "bough/core/errors.h"
#include "bough/tasks/translation_scores.h"
#include "tasks/metrics/ngrams.h"
#include "tasks/metrics/segment_tokenizer.h"
#include "tasks/metrics/signature.h"

namespace bough {
namespace {

constexpr std::size_t orders = 4;

/// Where the counts of a segment stand.
constexpr std::size_t hypothesis_length_at = 0, reference_length_at = 1, matches_at = 2,
                      totals_at = matches_at + orders;

std::u32string segment_words(std::string_view segment, const BleuOptions& options, WordNumbers& numbers) {
  std::u32string text = code_points(segment, options.lowercase);
  while (!text.empty() && separates_words(text.back())) text.pop_back();
  const std::u32string tokenized = segment_tokenizer(options.tokenize)(text);
  return numbers.of(split_at_white_space(tokenized));
}

/// Of the reference nearest in length, the shorter of two.
std::size_t nearest_length(const std::vector<std::u32string>& references, std::size_t length) {
  const auto distance = [length](std::size_t other) { return other > length ? other - length : length - other; };
  std::size_t nearest = references.front().size();
  for (const std::u32string& reference : references) {
    nearest = std::min(nearest, reference.size(), [&](std::size_t one, std::size_t other) {
      return std::pair(distance(one), one) < std::pair(distance(other), other);
    });
  }
  return nearest;
}

double smoothing_value(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == "floor" ? 0.1 : 1);
}

bool has_smoothing_value(const BleuOptions& options) {
  return options.smoothing == "floor" || options.smoothing == "add-k";
}

/// Sets precisions and score from the counts.
void compute_score(BleuScore& bleu, const BleuOptions& options) {
  const auto length = static_cast<double>(bleu.hypothesis_length), wanted = static_cast<double>(bleu.reference_length);
  bleu.brevity_penalty = length >= wanted ? 1 : length > 0 ? std::exp(1 - wanted / length) : 0;
  if (std::ranges::all_of(bleu.matches, [](std::int64_t matches) { return matches == 0; })) return;
  const double value = smoothing_value(options);
  double without_match = 1;  // doubles with each such order
  std::size_t order = 0;     // how many orders have n-grams
  for (; order < orders; ++order) {
    const double added = options.smoothing == "add-k" && order > 0 ? value : 0;
    const double matches = static_cast<double>(bleu.matches[order]) + added;
    const double total = static_cast<double>(bleu.totals[order]) + added;
    if (total == 0) break;
    double& precision = bleu.precisions[order];
    if (matches != 0) {
      precision = 100 * matches / total;
    } else if (options.smoothing == "exp") {
      without_match *= 2;
      precision = 100 / (without_match * total);
    } else if (options.smoothing == "floor") {
      precision = 100 * value / total;
    }
  }
  const std::size_t counted = options.effective_order ? order : orders;
  double sum = 0;
  for (std::size_t i = 0; i < counted; ++i) sum += std::log(bleu.precisions[i]);  // -infinity for a precision of 0
  bleu.score = bleu.brevity_penalty * std::exp(sum / static_cast<double>(counted));
}

BleuScore score_of(std::span<const std::int64_t> totals, const BleuOptions& options) {
  BleuScore bleu{.hypothesis_length = totals[hypothesis_length_at], .reference_length = totals[reference_length_at]};
  for (std::size_t i = 0; i < orders; ++i) {
    bleu.matches[i] = totals[matches_at + i];
    bleu.totals[i] = totals[totals_at + i];
  }
  compute_score(bleu, options);
  return bleu;
}

}  // namespace

Bleu::Bleu(BleuOptions options) : options_(std::move(options)) {
  segment_tokenizer(options_.tokenize);
  if (options_.smoothing != "exp" && options_.smoothing != "none" && !has_smoothing_value(options_)) {
    throw ConfigError(
        "BLEU", fmt::format("there is no smoothing '{}'; there are exp, floor, add-k and none", options_.smoothing));
  }
  if (!options_.smoothing_value) return;
  if (!has_smoothing_value(options_)) {
    throw ConfigError("BLEU",
                      fmt::format("the smoothing '{}' has no value, only floor and add-k do", options_.smoothing));
  }
  if (!std::isfinite(*options_.smoothing_value) || *options_.smoothing_value < 0) {
    throw ConfigError("BLEU",
                      fmt::format("the smoothing value must be 0 or more, it is {}", *options_.smoothing_value));
  }
}

std::string Bleu::signature(std::int64_t num_references, const std::optional<BootstrapOptions>& bootstrap) const {
  const std::string value =
      has_smoothing_value(options_) ? fmt::format("[{:.2f}]", smoothing_value(options_)) : std::string();
  return metric_signature(num_references, bootstrap, options_.lowercase,
                          fmt::format("eff:{}|tok:{}|smooth:{}{}", options_.effective_order ? "yes" : "no",
                                      options_.tokenize, options_.smoothing, value));
}

void Bleu::count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                         std::span<std::int64_t> counts) const {
  WordNumbers numbers;
  const std::u32string words = segment_words(hypothesis, options_, numbers);
  std::vector<std::u32string> reference_words;
  for (const std::string_view reference : references)
    reference_words.push_back(segment_words(reference, options_, numbers));
  counts[hypothesis_length_at] = std::ssize(words);
  counts[reference_length_at] = static_cast<std::int64_t>(nearest_length(reference_words, words.size()));
  for (std::size_t i = 0; i < orders; ++i) {
    const Ngrams ngrams = sorted_ngrams(words, i + 1);
    Ngrams in_references;
    for (const std::u32string& reference : reference_words) {
      in_references = most_of_both(in_references, sorted_ngrams(reference, i + 1));
    }
    counts[matches_at + i] = num_common(ngrams, in_references);
    counts[totals_at + i] = std::ssize(ngrams);
  }
}

double Bleu::score(std::span<const std::int64_t> totals) const { return score_of(totals, options_).score; }

BleuScore Bleu::parts(std::span<const std::int64_t> totals, std::int64_t num_references) const {
  BleuScore bleu = score_of(totals, options_);
  bleu.signature = signature(num_references);
  return bleu;
}

std::string to_string(const BleuScore& bleu) {
  const double ratio = bleu.reference_length == 0
                           ? 0
                           : static_cast<double>(bleu.hypothesis_length) / static_cast<double>(bleu.reference_length);
  return fmt::format("BLEU = {:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                     bleu.score, bleu.precisions[0], bleu.precisions[1], bleu.precisions[2], bleu.precisions[3],
                     bleu.brevity_penalty, ratio, bleu.hypothesis_length, bleu.reference_length);
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const BleuOptions& options) {
  const Bleu metric(options);
  return metric.parts(metric.count_corpus(hypotheses, references).totals());
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                      const BleuOptions& options) {
  const Bleu metric(options);
  return metric.parts(metric.count_corpus(hypotheses, references).totals(), std::ssize(references));
}

}  // namespace bough
