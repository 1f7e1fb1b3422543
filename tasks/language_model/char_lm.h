#pragma once

#include "bough/tasks/character_model.h"
#include "tasks/task.h"

namespace bough {

/// Tokens of a text, one after the other: every pattern with a causal form, scored in bits per character.
const tasks::Task& char_lm_task();

/// The model that settings describe, for windows of up to so many tokens.
CharacterModelOptions character_model_options(const Settings& model, std::int64_t vocabulary,
                                              const GraphGenerator& generator, std::int64_t length);

}  // namespace bough
