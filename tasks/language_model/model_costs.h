#pragma once

#include "bough/tasks/character_model.h"
#include "tasks/language_model/text_graphs.h"

/// What a language model costs on most windows of a text, about: for plans of runs.
namespace bough {

/// Floating-point operations of a forward pass over a batch of windows.
double forward_operations(const CharacterModel& model, TextGraphs& graphs);
/// Of a training step, with what backward computes again.
double training_operations(const CharacterModel& model, TextGraphs& graphs);
/// Floats that a forward pass saves for backward; the last `predicting` layers predict.
double saved_floats(const CharacterModel& model, TextGraphs& graphs, std::int64_t predicting);
/// Floats at the peak of an evaluation, which saves nothing.
double evaluation_floats(const CharacterModel& model, TextGraphs& graphs);

}  // namespace bough
