#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/nn/decoding.h"
#include "nn/decoding/search_step.h"

namespace bough::nn {
namespace {

constexpr const char* beam_search_name = "beam search";

/// A token behind another one; hypotheses share the links of what they have in common.
struct Link {
  std::int32_t token = 0, before = -1;
};

/// A hypothesis that goes on.
struct Beam {
  std::int32_t last = -1;  ///< its link
  double log_probability = 0;
};

/// A token that may follow a beam.
struct Candidate {
  double log_probability = 0;  ///< of the beam with it
  std::int32_t beam = 0, token = 0;

  /// Best first, and the same order on every machine.
  bool operator<(const Candidate& other) const {
    if (log_probability != other.log_probability) return log_probability > other.log_probability;
    return std::pair(beam, token) < std::pair(other.beam, other.token);
  }
};

/// The search for one sequence.
struct SequenceSearch {
  std::int64_t max_length = 0;
  std::vector<Beam> live{Beam{}};
  std::vector<Hypothesis> results = {};
};

/// The `count` likeliest tokens of a row, in no order; of equal ones those of the lowest ids. Impossible ones and
/// `without` are left out.
void likeliest_tokens(std::span<const float> log_probabilities, std::size_t count, std::int32_t without,
                      std::vector<Candidate>& heap) {
  heap.clear();
  constexpr std::size_t block = 16;
  float least = -std::numeric_limits<float>::infinity();  // what a token must be above
  const auto look_at = [&](std::size_t token) {
    if (!(log_probabilities[token] > least) || static_cast<std::int32_t>(token) == without) return;
    if (heap.size() == count) {
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
    heap.push_back({log_probabilities[token], 0, static_cast<std::int32_t>(token)});
    std::push_heap(heap.begin(), heap.end());
    if (heap.size() == count) least = static_cast<float>(heap.front().log_probability);
  };
  std::size_t begin = 0;
  for (; begin + block <= log_probabilities.size(); begin += block) {
    // Without a branch, so that the compiler compares a whole vector: almost all blocks have nothing to look at.
    int above = 0;
    for (std::size_t i = 0; i < block; ++i) above |= log_probabilities[begin + i] > least ? 1 : 0;
    for (std::size_t i = 0; above != 0 && i < block; ++i) look_at(begin + i);
  }
  for (; begin < log_probabilities.size(); ++begin) look_at(begin);
}

class BeamSearch {
 public:
  BeamSearch(NextTokenScorer& scorer, std::span<const std::int32_t> first_tokens, const BeamSearchOptions& options)
      : scorer_(scorer), options_(options), end_(options.limits.end_of_sentence) {
    check();
    for (const std::int64_t length : checked_lengths(beam_search_name, scorer, first_tokens, options.limits)) {
      sequences_.push_back({.max_length = length});
      active_.push_back(active_.size());
    }
    next_tokens_.assign(first_tokens.begin(), first_tokens.end());
  }

  std::vector<std::vector<Hypothesis>> run() {
    drop_finished();
    for (; !active_.empty(); ++length_) {
      find_candidates(score_step(beam_search_name, scorer_, next_tokens_, options_.limits));
      std::size_t row = 0;
      for (const std::size_t i : active_) {
        const std::size_t rows = sequences_[i].live.size();
        extend(sequences_[i], std::span(candidates_).subspan(row, rows), row);
        row += rows;
      }
      collect_rows();
    }
    scorer_.reorder({});
    std::vector<std::vector<Hypothesis>> results;
    for (SequenceSearch& sequence : sequences_) {
      std::ranges::stable_sort(sequence.results, std::greater(), &Hypothesis::score);
      const auto most = static_cast<std::size_t>(options_.n_best);
      if (sequence.results.size() > most) sequence.results.resize(most);
      results.push_back(std::move(sequence.results));
    }
    return results;
  }

 private:
  void check() const {
    const auto require = [](bool holds, const std::string& message) {
      if (!holds) throw ConfigError(beam_search_name, message);
    };
    require(options_.width >= 1 && options_.width <= 1'000'000,
            fmt::format("the width must be from 1 to 1000000, not {}", options_.width));
    require(options_.n_best >= 1 && options_.n_best <= options_.width,
            fmt::format("n_best must be from 1 to the width {}, not {}", options_.width, options_.n_best));
    require(options_.alpha >= 0 && std::isfinite(options_.alpha),
            fmt::format("alpha of the length penalty must be at least 0, not {}", options_.alpha));
  }

  /// What a sum of log-probabilities is divided by.
  double penalty(std::int64_t length) const {
    const auto tokens = static_cast<double>(std::max<std::int64_t>(1, length));
    return std::pow(options_.length_penalty == LengthPenalty::gnmt ? (5 + tokens) / 6 : tokens, options_.alpha);
  }

  void add_result(SequenceSearch& sequence, const Beam& beam, double log_probability, bool ended) const {
    Hypothesis result{.log_probability = log_probability, .ended = ended};
    for (std::int32_t link = beam.last; link >= 0; link = links_[static_cast<std::size_t>(link)].before) {
      result.tokens.push_back(links_[static_cast<std::size_t>(link)].token);
    }
    std::ranges::reverse(result.tokens);
    result.score = log_probability / penalty(std::ssize(result.tokens) + (ended ? 1 : 0));
    sequence.results.push_back(std::move(result));
  }

  /// The likeliest continuations of each beam, each with the probability of its beam.
  void find_candidates(const StepScores& step) {
    const auto most = static_cast<std::size_t>(std::min(2 * options_.width, step.vocabulary()));
    const std::int32_t without = length_ < options_.limits.min_length ? end_ : -1;
    std::vector<const SequenceSearch*> searches;
    std::vector<std::int32_t> beams;
    for (const std::size_t i : active_) {
      for (std::size_t beam = 0; beam < sequences_[i].live.size(); ++beam) {
        searches.push_back(&sequences_[i]);
        beams.push_back(static_cast<std::int32_t>(beam));
      }
    }
    candidates_.resize(beams.size());
    parallel_chunks(std::ssize(beams), rows_per_chunk(step.vocabulary()), [&](std::int64_t begin, std::int64_t end) {
      for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
        std::vector<Candidate>& found = candidates_[row];
        const std::span<const float> log_probabilities = step.log_probabilities_of(row);
        if (end_ >= 0 && length_ == searches[row]->max_length) {
          found.assign(1, {log_probabilities[static_cast<std::size_t>(end_)], 0, end_});
          if (std::isinf(found[0].log_probability)) found.clear();
        } else {
          likeliest_tokens(log_probabilities, most, without, found);
        }
        for (Candidate& one : found) {
          one.beam = beams[row];
          one.log_probability += searches[row]->live[static_cast<std::size_t>(one.beam)].log_probability;
        }
      }
    });
  }

  /// The beams of a sequence after this step; their rows in the scorer begin at `row`.
  void extend(SequenceSearch& sequence, std::span<const std::vector<Candidate>> of_beams, std::size_t row) {
    const auto width = static_cast<std::size_t>(options_.width);
    std::vector<Candidate> best;
    for (const std::vector<Candidate>& found : of_beams) best.insert(best.end(), found.begin(), found.end());
    const std::size_t looked_at = std::min(best.size(), 2 * width);
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(looked_at), best.end());
    const std::vector<Beam> before = std::exchange(sequence.live, {});
    for (std::size_t i = 0; i < looked_at && sequence.live.size() < width; ++i) {
      const Beam& beam = before[static_cast<std::size_t>(best[i].beam)];
      if (best[i].token == end_) {
        if (i < width) add_result(sequence, beam, best[i].log_probability, true);
        continue;
      }
      links_.push_back({best[i].token, beam.last});
      sequence.live.push_back({static_cast<std::int32_t>(links_.size()) - 1, best[i].log_probability});
      chosen_.push_back({static_cast<std::int32_t>(row) + best[i].beam, best[i].token});
    }
    if (!is_done(sequence)) return;
    chosen_.resize(chosen_.size() - sequence.live.size());
    sequence.live.clear();
  }

  bool is_done(SequenceSearch& sequence) const {
    if (end_ < 0 && length_ + 1 == sequence.max_length) {
      for (const Beam& beam : sequence.live) add_result(sequence, beam, beam.log_probability, false);
      return true;
    }
    if (options_.stop == BeamStop::width_ended) return std::ssize(sequence.results) >= options_.width;
    if (std::ssize(sequence.results) < options_.n_best) return false;
    // Sums only fall, so what a beam has now, with the largest penalty there can be, is the most it can reach.
    std::vector<double> scores;
    for (const Hypothesis& result : sequence.results) scores.push_back(result.score);
    std::ranges::nth_element(scores, scores.begin() + (options_.n_best - 1), std::greater());
    const double worst = scores[static_cast<std::size_t>(options_.n_best - 1)];
    const double largest = penalty(sequence.max_length + 1);
    return std::ranges::none_of(sequence.live,
                                [&](const Beam& beam) { return beam.log_probability / largest > worst; });
  }

  /// Sequences whose results are to be empty do not begin.
  void drop_finished() {
    if (end_ >= 0) return;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      if (sequences_[i].max_length > 0) {
        chosen_.push_back({static_cast<std::int32_t>(i), next_tokens_[i]});
      } else {
        add_result(sequences_[i], {}, 0, false);
        sequences_[i].live.clear();
      }
    }
    if (chosen_.size() == sequences_.size()) return chosen_.clear();
    collect_rows();
  }

  /// Leaves the chosen continuations in the scorer and what they end with for it to read.
  void collect_rows() {
    std::vector<std::int32_t> parents;
    next_tokens_.clear();
    for (const auto& [row, token] : chosen_) {
      parents.push_back(row);
      next_tokens_.push_back(token);
    }
    chosen_.clear();
    std::erase_if(active_, [this](std::size_t i) { return sequences_[i].live.empty(); });
    if (!active_.empty()) scorer_.reorder(parents);
  }

  NextTokenScorer& scorer_;
  const BeamSearchOptions& options_;
  const std::int32_t end_;
  std::int64_t length_ = 0;  ///< of the beams
  std::vector<SequenceSearch> sequences_;
  std::vector<std::size_t> active_;  ///< sequences that have beams; their rows follow each other in the scorer
  std::vector<Link> links_;
  std::vector<std::vector<Candidate>> candidates_;             ///< by row
  std::vector<std::pair<std::int32_t, std::int32_t>> chosen_;  ///< row and token of each beam that goes on
  std::vector<std::int32_t> next_tokens_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(NextTokenScorer& scorer, std::span<const std::int32_t> first_tokens,
                                                 const BeamSearchOptions& options) {
  return BeamSearch(scorer, first_tokens, options).run();
}

}  // namespace bough::nn
