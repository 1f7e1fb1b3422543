#pragma once

#include "bough/nn/module.h"

namespace bough::nn {

/// Throws unless `given` has exactly the names of `own`, each once, with equal shapes and types: ConfigError,
/// ShapeError or TypeError naming the first that does not fit.
void require_matching_state(const char* where, const Module::NamedTensors& own, const Module::NamedTensors& given);

/// Copies the values of `given` into the tensors of `own`, by name.
void assign_state(Module::NamedTensors own, const Module::NamedTensors& given);

}  // namespace bough::nn
