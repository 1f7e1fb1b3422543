#pragma once

#include <memory>

#include "bough/tasks/character_model.h"
#include "tasks/language_model/text_graphs.h"
#include "tasks/language_model/tokenized_corpus.h"
#include "tasks/language_model/windows.h"

namespace bough {

/// Scores a held-out text with a model, window by window. Where windows carry what they remember, the whole text is one
/// stream, which every evaluation reads from its beginning.
class Evaluation {
 public:
  /// Stride as in EvaluationOrder; it does not matter where windows carry what they remember. Errors as for
  /// EvaluationWindows.
  Evaluation(ScoredText text, std::shared_ptr<TextGraphs> graphs, std::optional<std::int64_t> stride);

  std::int64_t num_batches() const { return windows_.num_batches(); }
  /// ScoredText::metrics. The model is in evaluation mode meanwhile, without gradients, and in training mode after it.
  nlohmann::json metrics(CharacterModel& model, Device device) const;

 private:
  ScoredText text_;
  std::shared_ptr<TextGraphs> graphs_;
  EvaluationWindows windows_;
};

}  // namespace bough
