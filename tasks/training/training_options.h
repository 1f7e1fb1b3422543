#pragma once

#include <vector>

#include "bough/core/config.h"

namespace bough::training {

/// Steps, rates, seed and the like, with help and defaults: the parameters of "train" for every task.
std::vector<Parameter> training_parameters();

}  // namespace bough::training
