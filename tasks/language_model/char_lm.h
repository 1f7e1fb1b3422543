#pragma once

#include "bough/tasks/character_model.h"
#include "bough/tasks/character_vocabulary.h"
#include "tasks/task.h"

namespace bough {

/// Characters of a text, one after the other: every pattern with a causal form, scored in bits per character.
const tasks::Task& char_lm_task();

/// The model that settings describe, for windows of so many characters.
CharacterModelOptions character_model_options(const Settings& model, std::int64_t vocabulary,
                                              const GraphGenerator& generator, std::int64_t length);

/// Names in a checkpoint's notes under which the task keeps what `bough generate` needs.
inline constexpr const char* vocabulary_note = "vocabulary";

/// Bytes as text that any JSON can hold, and back. IoError for text that is not hexadecimal.
std::string to_hexadecimal(const std::string& bytes);
std::string from_hexadecimal(const std::string& text);

}  // namespace bough
