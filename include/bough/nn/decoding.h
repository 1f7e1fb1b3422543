#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/nn/batched_decoder.h"

/// Writing sequences token by token with any model that predicts the next one: beam search, greedy search, sampling.
namespace bough::nn {

/// What a search asks a model for. It holds hypotheses side by side, numbered from 0; when a search begins, one for
/// each sequence to be written, whose prompt has been read but for its last token. DecoderScorer is one over a
/// BatchedDecoder.
class NextTokenScorer {
 public:
  /// Has nothing of its own to copy.
  NextTokenScorer() = default;
  NextTokenScorer(const NextTokenScorer&) = default;
  NextTokenScorer& operator=(const NextTokenScorer&) = default;
  virtual ~NextTokenScorer() = default;

  /// Number of hypotheses; how many tokens each of them can still read.
  virtual std::int64_t size() const = 0;
  virtual std::int64_t room() const = 0;
  /// Hypothesis i reads tokens[i] -> scores of what may follow it, float32 [size(), vocabulary]: logarithms of
  /// probabilities up to a constant for each row, -infinity for what is impossible.
  virtual Tensor score(std::span<const std::int32_t> tokens) = 0;
  /// The hypotheses become copies of those named, in this order; those not named end.
  virtual void reorder(std::span<const std::int32_t> parents) = 0;
};

/// A BatchedDecoder between what turns tokens into its inputs and what turns its rows into scores.
///
///     DecoderScorer scorer(
///         decoder, [&](const Tensor& tokens, const Tensor& at) { return input.forward(embedding.forward(tokens), at);
///         },
///         [&](const Tensor& states) { return embedding.project(states); });
class DecoderScorer : public NextTokenScorer {
 public:
  /// Tokens and their positions, int32 [n] each, on the device of the model -> inputs [n, dim].
  using Embed = std::function<Tensor(const Tensor& tokens, const Tensor& positions)>;
  /// Rows of the decoder [n, dim] -> scores [n, vocabulary].
  using Project = std::function<Tensor(const Tensor& states)>;

  /// The decoder must outlive the scorer, and its hypotheses are the scorer's.
  DecoderScorer(BatchedDecoder& decoder, Embed embed, Project project);

  std::int64_t size() const override { return decoder_->size(); }
  std::int64_t room() const override;
  Tensor score(std::span<const std::int32_t> tokens) override;
  void reorder(std::span<const std::int32_t> parents) override { decoder_->reorder(parents); }

  /// Hypothesis i reads all of prompts[i], which may be empty, in one step; nothing is scored.
  void read(std::span<const std::vector<std::int32_t>> prompts);

 private:
  Tensor inputs(std::span<const std::int32_t> tokens, std::span<const std::int32_t> positions) const;

  BatchedDecoder* decoder_;
  Embed embed_;
  Project project_;
};

/// How long results become, in tokens without the end of the sentence.
struct SearchLimits {
  /// The token that ends a sequence, which results leave out; -1: none, all have the largest length.
  std::int32_t end_of_sentence = -1;
  std::int64_t min_length = 0;  ///< before, the end is not taken, but at max_length
  /// At this length nothing but the end may follow, with its probability. Never more than the scorer has room for.
  std::int64_t max_length = 200;
  std::vector<std::int64_t> max_lengths = {};  ///< of each sequence, instead of max_length; or empty
};

/// A sequence that a search has written.
struct Hypothesis {
  std::vector<std::int32_t> tokens = {};  ///< without what was there before, and without the end
  double log_probability = 0;             ///< sum over the tokens and, if it has ended, the end
  double score = 0;                       ///< what beam search ranks by; elsewhere the same as log_probability
  bool ended = false;                     ///< with end_of_sentence, which counts as one token of its length
};

/// What the sum of log-probabilities is divided by: without it, short translations would win.
enum class LengthPenalty {
  power,  ///< length^alpha, as fairseq and Marian have it; alpha = 1 is the mean over the tokens
  gnmt,   ///< ((5 + length) / 6)^alpha (Wu et al., 2016), as OpenNMT and Sockeye have it
};

/// When beam search is done with a sequence before all its hypotheses have the largest length.
enum class BeamStop {
  width_ended,  ///< as soon as `width` hypotheses have ended, as fairseq does
  certain,      ///< when no hypothesis that goes on can still come among the n best
};

/// Options of beam_search.
struct BeamSearchOptions {
  std::int64_t width = 5;                               ///< hypotheses of a sequence that go on after each step
  std::int64_t n_best = 1;                              ///< results for each sequence, at most width
  LengthPenalty length_penalty = LengthPenalty::power;  ///< how alpha is used
  double alpha = 1;                                     ///< at least 0; 0: no penalty
  BeamStop stop = BeamStop::width_ended;                ///< when a sequence is done
  SearchLimits limits = {};                             ///< of the results
};

/// Beam search: hypothesis i of the scorer reads first_tokens[i] (the beginning of a sentence, the last token of a
/// prompt), and the likeliest continuations are followed -> the n best of each sequence, best first; fewer only where
/// fewer are possible.
///
/// In each step the 2 width likeliest continuations of a sequence are looked at: those among the first `width` that end
/// are results, and the first `width` others go on. Equal ones are taken in the order of their hypotheses, then of
/// their token ids; results of equal score in the order in which they ended. So the results of a sequence depend on
/// nothing but its scores: not on threads, nor on the other sequences. No hypothesis is left in the scorer. ConfigError
/// for options that make no sense or a scorer without room; ShapeError for other tokens or scores than described; Error
/// for scores that are NaN or +infinity.
std::vector<std::vector<Hypothesis>> beam_search(NextTokenScorer& scorer, std::span<const std::int32_t> first_tokens,
                                                 const BeamSearchOptions& options = {});

/// Options of sample.
struct SamplingOptions {
  double temperature = 1;  ///< scores are divided by it: below 1 likely tokens become likelier, 0 takes the likeliest
  std::int64_t top_k = 0;  ///< only so many of the likeliest tokens, of equal ones those of the lowest ids; 0: all
  double top_p = 1;        ///< of these only the likeliest, up to the one with which their probabilities reach it
  std::uint64_t seed = 1;  ///< of the choices
  /// Numbers of the sequences among all that are sampled with this seed; empty: 0, 1, 2, ... The choices for a sequence
  /// depend on seed, number and step alone, so a file can be cut into batches of any size.
  std::vector<std::uint64_t> numbers = {};
  SearchLimits limits = {};  ///< of the results
  /// Called with each token as soon as it is chosen, the end left out: step by step, by sequence in each step.
  std::function<void(std::size_t sequence, std::int32_t token)> on_token = {};
};

/// ConfigError for a temperature, top_k or top_p that makes no sense: what sample begins with.
void check_sampling_options(const SamplingOptions& options);

/// Draws a continuation for each hypothesis of the scorer, which first reads first_tokens[i]: one result each, in
/// order. Several samples of one prompt: scorer.reorder({0, 0, 0}) before. The same for any number of threads;
/// otherwise as beam_search. log_probability is that of the model, whatever temperature, top_k and top_p are.
std::vector<Hypothesis> sample(NextTokenScorer& scorer, std::span<const std::int32_t> first_tokens,
                               const SamplingOptions& options = {});

/// The likeliest token each time, of equal ones that of the lowest id: sample with temperature 0.
std::vector<Hypothesis> greedy_search(NextTokenScorer& scorer, std::span<const std::int32_t> first_tokens,
                                      const SearchLimits& limits = {});

/// The token that sampling takes for a number in [0, 1): scores of all tokens, of which at least one is finite and none
/// NaN or +infinity; temperature, top_k and top_p as above. O(tokens), with top_p below 1 O(tokens log tokens).
std::int32_t choose_token(std::span<const float> scores, const SamplingOptions& options, double uniform);

}  // namespace bough::nn
