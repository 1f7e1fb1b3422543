#pragma once

#include "bough/tasks/vocabulary.h"
#include "tasks/data/sentencepiece.h"

namespace bough {

/// The pieces of a SentencePiece model, for texts of any bytes that must come out as they went in.
///
/// A text is cut line by line. Line breaks, zero bytes, bytes that are no UTF-8 and the character "▁", which the
/// library would take for a space, are written as single bytes. Nothing is ever unknown.
class SentencePieceVocabulary : public Vocabulary {
 public:
  explicit SentencePieceVocabulary(SentencePieceModel model) : model_(std::move(model)) {}

  std::int64_t size() const override { return model_.size(); }
  /// ConfigError naming the place if the model would change the text: one that normalises it, puts a space in front of
  /// it, or cannot write single bytes. None that SentencePieceModel::train made does.
  TokenizedText tokenize(std::string_view text) const override;
  std::string text_of(std::int32_t token, std::optional<std::int32_t> before = {}) const override;
  std::int32_t start() const override;
  const std::string& bytes() const override { return model_.bytes(); }

 private:
  SentencePieceModel model_;
};

}  // namespace bough
