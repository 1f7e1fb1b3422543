#pragma once

#include "bough/core/errors.h"

namespace bough {

/// What choose_degree throws if no value of the pattern's parameter comes near the wanted degree: nothing else is wrong
/// with the specification.
struct UnreachableDegree : ConfigError {
  using ConfigError::ConfigError;
};

}  // namespace bough
