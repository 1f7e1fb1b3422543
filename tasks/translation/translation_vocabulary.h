#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bough/core/config.h"
#include "tasks/data/parallel_text.h"
#include "tasks/data/sentencepiece.h"

namespace bough {

/// The tokens of one language: the pieces of a SentencePiece model and, where it has none, two more for begin and end.
class SentenceTokens {
 public:
  explicit SentenceTokens(SentencePieceModel model);

  /// Of all tokens.
  std::int64_t size() const { return size_; }
  /// In front of a translation.
  std::int32_t begin() const { return begin_; }
  /// After each sentence.
  std::int32_t end() const { return end_; }

  /// Pieces of a sentence, without begin and end.
  std::vector<std::int32_t> encode(std::string_view sentence) const { return model_.encode(sentence); }
  /// The sentence that pieces write, in one line: a line break among them becomes a space. Begin and end write nothing.
  std::string decode(std::span<const std::int32_t> tokens) const;

  const SentencePieceModel& model() const { return model_; }

 private:
  SentencePieceModel model_;
  std::int64_t size_;
  std::int32_t begin_, end_;
};

/// The tokens of both languages, which may be the same.
struct TranslationVocabulary {
  SentenceTokens source, target;
  bool joint = true;  ///< one model for both
};

/// The key "vocabulary" of "task".
Parameter translation_vocabulary_parameter();
/// ConfigError for what the table cannot tell.
void check_translation_vocabulary(const Settings& vocabulary);

/// Models from the files that the settings name, or learned from the training text. ConfigError in builds without
/// SentencePiece.
TranslationVocabulary make_translation_vocabulary(const Settings& vocabulary, const ParallelText& train,
                                                  const std::vector<std::string>& folders);

/// As notes of a checkpoint, and back. IoError for notes that are none.
std::map<std::string, std::string> notes_of(const TranslationVocabulary& vocabulary);
TranslationVocabulary vocabulary_from_notes(const std::map<std::string, std::string>& notes);

}  // namespace bough
