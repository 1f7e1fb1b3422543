#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bough/core/device.h"

namespace bough {

/// A sentence to translate.
struct SourceSentence {
  std::string text;              ///< one line
  bool begins_document = false;  ///< what was before it is no context
};

/// How a translation is searched for.
struct TranslateOptions {
  std::int64_t beam = 5;        ///< hypotheses that are kept; 1 is greedy search
  double length_penalty = 0.6;  ///< log probabilities are divided by ((5 + length) / 6) to this power
  std::int64_t nbest = 1;       ///< hypotheses to give, at most beam
};

/// One of the translations of a sentence.
struct TranslationHypothesis {
  std::string text;  ///< one line
  double score = 0;  ///< what it was ranked by: its log probability with the length penalty
};

/// What came of a sentence.
struct TranslatedSentence {
  std::vector<TranslationHypothesis> hypotheses;  ///< best first; at least one
  bool cut = false;                               ///< it has more tokens than are read, its first ones
  /// The best translation.
  const std::string& text() const { return hypotheses.front().text; }
};

/// A translation model that `bough run` has trained. Threads may share one; it translates for one of them at a time.
///
///     const TrainedTranslator translator("results/captions/runs/bpt-k4/best.safetensors");
///     for (const TranslatedSentence& sentence : translator.translate(std::vector<std::string>{"a dog"})) ...
class TrainedTranslator {
 public:
  /// Loads a checkpoint. `context` are the tokens of the document that are read with a sentence, by default as many as
  /// in training; ConfigError for more. IoError for a file that is no such checkpoint, DeviceError for a device that is
  /// not there, ConfigError for a pattern that the registry does not have, IoError or ConfigError for a plug-in of its
  /// graph that is neither loaded nor where it was.
  explicit TrainedTranslator(const std::string& checkpoint, Device device = Device::cpu(),
                             std::optional<std::int64_t> context = {});
  ~TrainedTranslator();
  TrainedTranslator(TrainedTranslator&&) noexcept;
  TrainedTranslator& operator=(TrainedTranslator&&) noexcept;

  /// Tokens of the document that are read with a sentence; 0: every sentence stands alone.
  std::int64_t context() const;
  /// Tokens of a sentence that are read, and of a translation that are written, at most.
  std::int64_t max_length() const;
  /// How the text that it was trained on says where documents begin: "none", "blank_line", "marks" or "tsv".
  std::string documents() const;

  /// Translates sentences in the order of their documents, the first of which begins here. What a document becomes
  /// depends on the others by rounding alone; the same sentences give the same bits for any number of threads.
  /// ConfigError for options out of range.
  std::vector<TranslatedSentence> translate(std::span<const SourceSentence> sentences,
                                            const TranslateOptions& options = {}) const;
  /// The same of sentences that stand alone.
  std::vector<TranslatedSentence> translate(std::span<const std::string> sentences,
                                            const TranslateOptions& options = {}) const;

 private:
  friend class TranslationStream;
  struct Trained;
  std::unique_ptr<Trained> trained_;
};

/// Translates sentences as they come and remembers what the next one reads of its document.
class TranslationStream {
 public:
  /// The translator must outlive it.
  explicit TranslationStream(const TrainedTranslator& translator, const TranslateOptions& options = {});
  ~TranslationStream();
  TranslationStream(const TranslationStream&) = delete;
  TranslationStream& operator=(const TranslationStream&) = delete;

  /// Some sentences that follow those before. Documents that lie side by side in them are translated together.
  std::vector<TranslatedSentence> translate(std::span<const SourceSentence> sentences);

 private:
  struct State;
  const TrainedTranslator* translator_;
  TranslateOptions options_;
  std::unique_ptr<State> state_;
};

}  // namespace bough
