#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bough {

/// How BLEU (Papineni et al., 2002) is computed. The defaults are those of sacreBLEU, with whose corpus scores all
/// options agree.
struct BleuOptions {
  /// What cuts a segment into words. "13a": mteval-v13a, for languages with spaces between words; "intl": mteval-v14,
  /// at Unicode's punctuation and symbols; "zh": Chinese characters one by one, the rest by 13a; "char": characters one
  /// by one; "none": white space alone, for text that is in words already.
  std::string tokenize = "13a";
  bool lowercase = false;  ///< compare in small letters
  /// What the precision of an order is in which no n-gram matches. "exp": half of one match in the first such order, a
  /// quarter in the second; "floor": smoothing_value matches; "add-k": smoothing_value is added to matches and n-grams
  /// of orders above 1; "none": 0, and so is BLEU.
  std::string smoothing = "exp";
  std::optional<double> smoothing_value = {};  ///< of "floor", otherwise 0.1, and of "add-k", otherwise 1
  /// Only orders of which the hypotheses have n-grams count: for single sentences, not for a corpus.
  bool effective_order = false;
};

/// How chrF (Popović, 2015) is computed. The defaults are those of sacreBLEU; chrF++ (Popović, 2017) has words too:
/// {.word_order = 2}.
struct ChrfOptions {
  int character_order = 6;  ///< n-grams of up to so many characters, white space left out
  int word_order = 0;       ///< and of up to so many words, punctuation at their ends apart
  int beta = 2;             ///< recall counts so many times as much as precision
  bool lowercase = false;   ///< compare in small letters
};

/// How resamples are drawn. The defaults are those of sacreBLEU.
struct BootstrapOptions {
  std::int64_t samples = 1000;  ///< resamples of the corpus
  std::uint64_t seed = 12345;   ///< of the draws: the same seed gives the same samples on every machine
};

/// What a metric counts in each segment of a corpus. Added up they give the score of the corpus, of a part or of a
/// resample.
struct SegmentCounts {
  std::int64_t width = 0;                 ///< numbers of one segment
  std::vector<std::int64_t> counts = {};  ///< [segments, width]

  /// How many segments there are, and the sums over all of them: `width` numbers, zeros without segments.
  std::int64_t num_segments() const { return width == 0 ? 0 : std::ssize(counts) / width; }
  std::vector<std::int64_t> totals() const;
};

/// A metric that compares segments of text (translations of sentences) with references and depends on counts alone.
/// Text is UTF-8; a byte that is none stands for U+FFFD. Immutable, so threads may share one.
class TranslationMetric {
 public:
  virtual ~TranslationMetric() = default;
  /// "BLEU", "chrF2", "chrF2++".
  virtual std::string name() const = 0;
  /// Everything that decides the score, in the form of sacreBLEU: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|" and
  /// the version of bough. With `bootstrap` how resamples were drawn, too.
  virtual std::string signature(std::int64_t num_references = 1,
                                const std::optional<BootstrapOptions>& bootstrap = {}) const = 0;
  /// How many numbers count_segment writes.
  virtual std::int64_t width() const = 0;
  /// Writes the counts of one segment and its references, of which there is at least one.
  virtual void count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                             std::span<std::int64_t> counts) const = 0;
  /// The score in percent that sums of counts stand for; 0 for zeros.
  virtual double score(std::span<const std::int64_t> totals) const = 0;

  /// Counts of a corpus whose segment i is hypotheses[i] and references[i]; of several references line i of each.
  /// Segments are spread over threads. ConfigError that names both numbers of segments if they differ, and for no
  /// references.
  SegmentCounts count_corpus(std::span<const std::string> hypotheses, std::span<const std::string> references) const;
  SegmentCounts count_corpus(std::span<const std::string> hypotheses,
                             std::span<const std::vector<std::string>> references) const;
};

/// Corpus BLEU with its parts.
struct BleuScore {
  double score = 0;                          ///< in percent
  std::array<double, 4> precisions = {};     ///< of 1-grams to 4-grams in percent, smoothed
  std::array<std::int64_t, 4> matches = {};  ///< n-grams of the hypotheses that a reference has
  std::array<std::int64_t, 4> totals = {};   ///< n-grams of the hypotheses
  double brevity_penalty = 0;                ///< 1 unless the hypotheses are shorter than the references
  std::int64_t hypothesis_length = 0;        ///< words
  std::int64_t reference_length = 0;         ///< words of the reference nearest in length, segment by segment
  std::string signature = {};                ///< of the metric
};
/// The usual line: "BLEU = 35.12 68.1/42.0/28.9/19.8 (BP = 0.990 ratio = 0.990 hyp_len = 12017 ref_len = 12137)".
std::string to_string(const BleuScore& score);

/// BLEU as a metric: geometric mean of the precisions of n-grams up to four words times the brevity penalty.
class Bleu final : public TranslationMetric {
 public:
  /// ConfigError for a tokenizer or smoothing that there is not, or a value that does not go with it.
  explicit Bleu(BleuOptions options = {});

  std::string name() const override { return "BLEU"; }
  std::string signature(std::int64_t num_references = 1,
                        const std::optional<BootstrapOptions>& bootstrap = {}) const override;
  std::int64_t width() const override { return 10; }
  void count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                     std::span<std::int64_t> counts) const override;
  double score(std::span<const std::int64_t> totals) const override;
  /// The score with its parts, and the signature for so many references.
  BleuScore parts(std::span<const std::int64_t> totals, std::int64_t num_references = 1) const;

 private:
  BleuOptions options_;
};

/// chrF as a metric: the mean precision and the mean recall over all orders of n-grams, in one F score.
class Chrf final : public TranslationMetric {
 public:
  /// ConfigError for orders below 0 or above 20, both of them 0, or a beta below 1.
  explicit Chrf(ChrfOptions options = {});

  std::string name() const override;
  std::string signature(std::int64_t num_references = 1,
                        const std::optional<BootstrapOptions>& bootstrap = {}) const override;
  std::int64_t width() const override { return 3 * (options_.character_order + options_.word_order); }
  void count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                     std::span<std::int64_t> counts) const override;
  double score(std::span<const std::int64_t> totals) const override;

 private:
  ChrfOptions options_;
};

/// BLEU of a corpus, one reference for each hypothesis. Equal to sacreBLEU's corpus score. No segments: 0. ConfigError
/// for unknown options, and one that names both numbers if there are not as many references as hypotheses.
///
///     const BleuScore bleu = corpus_bleu(hypotheses, references);
///     std::cout << bleu.score << " " << bleu.signature << "\n";
BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const BleuOptions& options = {});
/// The same with several references, references[r][i] for hypothesis i.
BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                      const BleuOptions& options = {});

/// chrF of a corpus in percent, with the same rules.
double corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
                   const ChrfOptions& options = {});

/// A score and what resamples say of it.
struct ScoreEstimate {
  double score = 0;  ///< of the corpus itself
  double mean = 0;   ///< over the resamples
  double low = 0;    ///< 2.5% of the resamples lie below
  double high = 0;   ///< and 2.5% above
};

/// What paired bootstrap resampling (Koehn, 2004) says of two systems.
struct PairedBootstrap {
  ScoreEstimate system = {};      ///< the one in question
  ScoreEstimate baseline = {};    ///< the one it is compared with
  ScoreEstimate difference = {};  ///< system - baseline, segment by segment the same resample
  /// How likely a difference as large as this one, in either direction, would be if both systems were equally good:
  /// (1 + resamples whose absolute difference exceeds its mean by more than the true one) / (1 + samples), as in
  /// sacreBLEU and the scripts of Moses.
  double p_value = 1;
};

/// Compares two systems on resamples of the corpus: so many segments drawn with replacement, the same ones for both.
/// The same result for any number of threads. ConfigError for counts of another metric, different numbers of segments,
/// no segments or no samples. Takes samples * segments * width additions.
PairedBootstrap paired_bootstrap(const TranslationMetric& metric, const SegmentCounts& system,
                                 const SegmentCounts& baseline, const BootstrapOptions& options = {});

}  // namespace bough
