#pragma once

#include "bough/core/tensor.h"

namespace bough::nn {

/// First values of parameters, float32, drawn from the default generator: manual_seed before a model is made fixes
/// them, for any number of threads.

/// Uniform in +-gain * sqrt(6 / (fan_in + fan_out)) for a weight [out, in].
Tensor xavier_uniform(const Shape& shape, double gain = 1);
Tensor normal(const Shape& shape, double standard_deviation);

}  // namespace bough::nn
