#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bough/core/errors.h"
#include "bough/tasks/translation_scores.h"
#include "tasks/metrics/ngrams.h"
#include "tasks/metrics/segment_tokenizer.h"
#include "tasks/metrics/signature.h"

namespace bough {
namespace {

constexpr int highest_order = 20;

bool is_ascii_punctuation(char32_t c) {
  return (c > U' ' && c < U'0') || (c > U'9' && c < U'A') || (c > U'Z' && c < U'a') || (c > U'z' && c < 0x7F);
}

/// Words, with one mark of punctuation at their end, otherwise at their beginning, apart: "(hi" and ")".
std::vector<std::u32string_view> words_and_punctuation(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (const std::u32string_view word : split_at_white_space(text)) {
    if (word.size() > 1 && is_ascii_punctuation(word.back())) {
      words.push_back(word.substr(0, word.size() - 1));
      words.push_back(word.substr(word.size() - 1));
    } else if (word.size() > 1 && is_ascii_punctuation(word.front())) {
      words.push_back(word.substr(0, 1));
      words.push_back(word.substr(1));
    } else {
      words.push_back(word);
    }
  }
  return words;
}

/// All n-grams that count, by order: those of characters, then those of words.
class OrderedNgrams {
 public:
  OrderedNgrams(std::string_view segment, const ChrfOptions& options, WordNumbers& numbers) {
    const std::u32string text = code_points(segment, options.lowercase);
    std::ranges::copy_if(text, std::back_inserter(characters_), [](char32_t c) { return !separates_words(c); });
    if (options.word_order > 0) words_ = numbers.of(words_and_punctuation(text));
    for (int order = 1; order <= options.character_order; ++order) add(characters_, order);
    for (int order = 1; order <= options.word_order; ++order) add(words_, order);
  }
  OrderedNgrams(const OrderedNgrams&) = delete;
  OrderedNgrams& operator=(const OrderedNgrams&) = delete;

  const std::vector<Ngrams>& by_order() const { return by_order_; }

 private:
  void add(std::u32string_view sequence, int order) {
    by_order_.push_back(sorted_ngrams(sequence, static_cast<std::size_t>(order)));
  }

  std::u32string characters_, words_;
  std::vector<Ngrams> by_order_;  ///< views of the two
};

/// For each order how many n-grams the hypothesis has, how many the reference, and how many they share.
std::vector<std::int64_t> ngram_counts(const OrderedNgrams& hypothesis, const OrderedNgrams& reference) {
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < hypothesis.by_order().size(); ++i) {
    const Ngrams &own = hypothesis.by_order()[i], &wanted = reference.by_order()[i];
    counts.push_back(wanted.empty() ? 0 : std::ssize(own));  // an order counts only if the reference has it
    counts.push_back(std::ssize(wanted));
    counts.push_back(num_common(own, wanted));
  }
  return counts;
}

}  // namespace

Chrf::Chrf(ChrfOptions options) : options_(options) {
  for (const int order : {options.character_order, options.word_order}) {
    if (order < 0 || order > highest_order) {
      throw ConfigError("chrF", fmt::format("an order must be a number from 0 to {}, not {}", highest_order, order));
    }
  }
  if (options.character_order + options.word_order == 0) {
    throw ConfigError("chrF", "there must be n-grams of characters or of words, both orders are 0");
  }
  if (options.beta < 1 || options.beta > 1000) {
    throw ConfigError("chrF", fmt::format("beta must be a number from 1 to 1000, not {}", options.beta));
  }
}

std::string Chrf::name() const {
  return fmt::format("chrF{}{}", options_.beta, std::string(static_cast<std::size_t>(options_.word_order), '+'));
}

std::string Chrf::signature(std::int64_t num_references, const std::optional<BootstrapOptions>& bootstrap) const {
  return metric_signature(num_references, bootstrap, options_.lowercase,
                          fmt::format("eff:yes|nc:{}|nw:{}|space:no", options_.character_order, options_.word_order));
}

void Chrf::count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                         std::span<std::int64_t> counts) const {
  WordNumbers numbers;
  const OrderedNgrams own(hypothesis, options_, numbers);
  double best = -1;
  for (const std::string_view reference : references) {
    const std::vector<std::int64_t> candidate = ngram_counts(own, OrderedNgrams(reference, options_, numbers));
    if (const double score_of_it = score(candidate); score_of_it > best) {
      best = score_of_it;
      std::ranges::copy(candidate, counts.begin());
    }
  }
}

double Chrf::score(std::span<const std::int64_t> totals) const {
  double precision = 0, recall = 0;
  int orders = 0;
  for (std::size_t i = 0; i + 2 < totals.size(); i += 3) {
    if (totals[i] == 0 || totals[i + 1] == 0) continue;
    const auto matches = static_cast<double>(totals[i + 2]);
    precision += matches / static_cast<double>(totals[i]);
    recall += matches / static_cast<double>(totals[i + 1]);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const double factor = options_.beta * options_.beta;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

double corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
                   const ChrfOptions& options) {
  const Chrf metric(options);
  return metric.score(metric.count_corpus(hypotheses, references).totals());
}

}  // namespace bough
