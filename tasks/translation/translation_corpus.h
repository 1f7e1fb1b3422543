#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bough/core/config.h"
#include "bough/tasks/translation_model.h"
#include "tasks/data/parallel_text.h"
#include "tasks/translation/translation_vocabulary.h"

namespace bough {

/// Sentences one after the other, as tokens.
struct TokenSentences {
  std::vector<std::int32_t> tokens = {};
  std::vector<std::int64_t> offsets = {0};  ///< where each sentence begins, and the end

  std::int64_t size() const { return std::ssize(offsets) - 1; }
  std::int64_t begin_of(std::int64_t sentence) const { return offsets[static_cast<std::size_t>(sentence)]; }
  std::span<const std::int32_t> sentence(std::int64_t index) const {
    return range(begin_of(index), begin_of(index + 1));
  }
  std::span<const std::int32_t> range(std::int64_t begin, std::int64_t end) const {
    return std::span(tokens).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }
  void add(std::span<const std::int32_t> sentence);
};

/// What a model reads of one pair: the tokens of its document before it, as many as the context has, and its own.
struct TranslationWindow {
  std::span<const std::int32_t> source, target;
  SentenceLengths lengths;  ///< of the sentences whose tokens these are
};

/// Sentence pairs as tokens. A source sentence ends with the token for its end; a target sentence has the token for its
/// beginning in front and its end is only predicted.
struct TranslationPairs {
  TokenSentences source = {}, target = {};
  std::vector<std::int32_t> documents = {};  ///< of each pair, ascending

  std::int64_t size() const { return source.size(); }
  /// The first pairs, at most so many.
  TranslationPairs first(std::int64_t count) const;
  /// A pair with up to `context` tokens of its document before it, on each side for itself: of the oldest sentence
  /// there may be the last tokens alone.
  TranslationWindow window(std::int64_t pair, std::int64_t context) const;
  /// Source and target tokens of that window.
  std::int64_t window_length(std::int64_t pair, std::int64_t context) const;

 private:
  std::int64_t first_of_document(std::int64_t pair) const;
};

/// What should follow each target token of a pair: the tokens after it, and in the end the token for the end.
void append_targets(std::span<const std::int32_t> target, std::int32_t end, std::vector<std::int32_t>& targets);

/// Training, validation and test pairs of a translation.
struct TranslationCorpus {
  TranslationVocabulary vocabulary;
  TranslationPairs train = {}, valid = {}, test = {};
  /// Sentences of the validation and test data as text, to be translated and to be compared with.
  ParallelText valid_text = {}, test_text = {};
  std::vector<std::string> remarks = {};  ///< sizes, what was left out, pieces a word
};

/// Keys of "task".
std::vector<Parameter> translation_corpus_parameters();
/// ConfigError for what the table cannot tell. Reads no files.
void check_translation_corpus(const Settings& task);
DocumentFormat document_format_of(const Settings& task);

/// Reads all files. The vocabulary is learned from the training text, read from files, or the one given. Training pairs
/// with an empty side or one of more than task.max_length tokens are left out. IoError as read_parallel_text,
/// ConfigError if no training pair is left.
TranslationCorpus load_translation_corpus(const Settings& task, const std::vector<std::string>& folders,
                                          std::optional<TranslationVocabulary> vocabulary);

}  // namespace bough
