#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bough/nn/batched_decoder.h"
#include "bough/nn/decoding.h"
#include "bough/ops/packed_linear.h"
#include "bough/tasks/translation_model.h"
#include "tasks/translation/translation_corpus.h"

namespace bough {

/// The last sentences of a document and their translations, as far as the context of the next sentence reaches.
class DocumentContext {
 public:
  /// `tokens` of context on each side; 0 remembers nothing.
  explicit DocumentContext(std::int64_t tokens) : most_(tokens) {}

  /// A sentence as the encoder reads it, with its end, and its translation as the decoder does, with its beginning.
  void add(std::span<const std::int32_t> source, std::span<const std::int32_t> target);
  /// Another document begins.
  void clear();
  std::int64_t tokens() const { return most_; }

  /// Lengths of the sentences that are remembered, oldest first, and their tokens.
  const SentenceLengths& lengths() const { return lengths_; }
  const std::vector<std::int32_t>& source() const { return source_; }
  const std::vector<std::int32_t>& target() const { return target_; }

 private:
  std::int64_t most_;
  SentenceLengths lengths_;
  std::vector<std::int32_t> source_, target_;
};

/// How translations are searched for.
struct SearchOptions {
  std::int64_t beam = 5;        ///< hypotheses that are kept; 1 is greedy
  double length_penalty = 0.6;  ///< scores are divided by ((5 + length) / 6) to this power
  std::int64_t nbest = 1;       ///< translations of each sentence, at most beam
};

/// A translation as tokens, without begin and end.
struct TokenHypothesis {
  std::vector<std::int32_t> tokens;
  double score = 0;  ///< log probability, divided as the options say
};

/// A sentence with its end, and what was before it in its document.
struct SearchRequest {
  std::span<const std::int32_t> source;
  const DocumentContext* context = nullptr;
};

/// Searches for translations with a model, which is read as in evaluation mode if it is in that mode.
class Translator {
 public:
  /// Model, graphs and tokens must outlive it; parameters that are trained on are followed. A sentence reads up to
  /// `context` tokens of its document, and no translation has more than `max_length` tokens with its end.
  Translator(const TranslationModel& model, const TranslationGraphBuilder& graphs, const SentenceTokens& target,
             std::int64_t context, std::int64_t max_length);

  /// Translations of each sentence, best first. All are computed together; what one gets depends on the others by the
  /// rounding of the encoder alone.
  std::vector<std::vector<TokenHypothesis>> search(std::span<const SearchRequest> requests,
                                                   const SearchOptions& options);

  /// Translations of each sentence, best first. `documents` of each ascend; in a document a sentence is translated
  /// after those before it, whose best translations are its context, while several documents are translated side by
  /// side. `open` is what was before the first sentence in its document, and becomes what is before one that follows
  /// the last. Without context every sentence stands alone.
  std::vector<std::vector<TokenHypothesis>> translate(const TokenSentences& source,
                                                      std::span<const std::int32_t> documents,
                                                      const SearchOptions& options, DocumentContext& open);

 private:
  /// The model on the graph of the longest target.
  struct Decoding {
    Decoding(const TranslationModel& model, PackedLinear& output, AttentionGraph graph);
    nn::BatchedDecoder decoder;
    nn::DecoderScorer scorer;
  };

  /// For requests whose targets have this graph.
  std::vector<std::vector<TokenHypothesis>> search(std::span<const SearchRequest> requests,
                                                   const SearchOptions& options, Decoding& decoding);
  /// Gives the decoder a hypothesis for each request, which has read what comes before its sentence.
  void begin(std::span<const SearchRequest> requests, Decoding& decoding);

  const TranslationModel* model_;
  const TranslationGraphBuilder* graphs_;
  const SentenceTokens* target_;
  std::int64_t max_length_;
  std::unique_ptr<const GraphGenerator> cross_;
  PackedLinear output_;
  Decoding longest_;
};

}  // namespace bough
