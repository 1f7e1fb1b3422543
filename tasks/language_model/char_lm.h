#pragma once

#include "tasks/language_model/character_model.h"
#include "tasks/language_model/vocabulary.h"
#include "tasks/task.h"

namespace bough {

/// Characters of a text, one after the other: every pattern with a causal form, scored in bits per character.
const tasks::Task& char_lm_task();

/// What a model has to know of the graphs it runs on.
struct GraphShape {
  std::int64_t num_relations = 0;
  std::int64_t stages = 1;
  std::optional<SoftSpan> soft_span = {};
};

/// The model that settings describe.
CharacterModelOptions character_model_options(const Settings& model, std::int64_t vocabulary, const GraphShape& graph);

/// Names in a checkpoint's notes under which the task keeps what `bough generate` needs.
inline constexpr const char* vocabulary_note = "vocabulary";

/// Bytes as text that any JSON can hold, and back. IoError for text that is not hexadecimal.
std::string to_hexadecimal(const std::string& bytes);
std::string from_hexadecimal(const std::string& text);

}  // namespace bough
