#pragma once

#include <span>

#include "bough/core/random.h"
#include "kernels/backend.h"

namespace bough {

/// y[i] = x[i] / (1 - p) where uniform_float(stream(i)) >= p, 0 elsewhere, as on the CPU; x and y are in the memory of
/// the GPU. 0 <= p <= 1. T: float, double.
template <typename T>
void dropout(Cuda, std::span<const T> x, double p, RandomStream stream, T* y);

}  // namespace bough
