#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bough/core/config.h"
#include "bough/tasks/vocabulary.h"
#include "tasks/language_model/text_corpus.h"
#include "tasks/language_model/windows.h"

namespace bough {

/// A held-out text and what bits per character need beside the predictions of its tokens.
struct ScoredText {
  /// A token that stands for a word which the vocabulary does not have.
  struct Unknown {
    std::int64_t position = 0;
    double spelling_nats = 0;  ///< see UnknownWordSpelling
  };

  EncodedText tokens;
  std::vector<std::int64_t> ends = {};  ///< where each token ends in the text, in bytes; empty: each is one byte
  std::vector<Unknown> unknown = {};    ///< ascending

  /// {"bpc", "perplexity"} if the tokens from `first` on were predicted at the cost of so many nats:
  ///     bpc = (nats + spelling of unknown words) / ln 2 / bytes,    perplexity = exp(nats / tokens).
  /// Where there can be unknown words, "unknown" is their share of the tokens, and "spelling_bpc" the share of bpc that
  /// is their spelling: perplexities of vocabularies with other unknown words are not comparable, bpc is.
  nlohmann::json metrics(std::int64_t first, double nats) const;
  bool can_have_unknown = false;
};

/// The texts of a run as tokens.
struct TokenizedCorpus {
  std::unique_ptr<const Vocabulary> vocabulary;
  EncodedText train;
  ScoredText valid, test;
};

/// Keys of "task" that say what tokens are: "tokens" and "vocabulary".
std::vector<Parameter> token_parameters();

/// ConfigError for keys that do not go together. Reads no files.
void check_tokens(const Settings& task);

/// "characters", "words" or "pieces", for messages.
std::string token_name(const Settings& task);

/// Makes the vocabulary and cuts the texts: characters that any of them has; words, or pieces, of the training text. A
/// model of SentencePiece is that of the checkpoint, if there is one, or of task.vocabulary.model, looked up in the
/// folders, or it is trained.
TokenizedCorpus tokenize_corpus(const Settings& task, const TextSplits& splits, const std::vector<std::string>& folders,
                                const std::string& checkpoint);

/// Name in a checkpoint's notes of Vocabulary::bytes(), in hexadecimal.
inline constexpr const char* vocabulary_note = "vocabulary";
std::string vocabulary_text(const Vocabulary& vocabulary);
/// From such a note of a run with this "task". IoError if it is damaged.
std::unique_ptr<const Vocabulary> read_vocabulary(const Settings& task, const std::string& note);

}  // namespace bough
