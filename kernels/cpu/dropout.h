#pragma once

#include <span>

#include "bough/core/random.h"
#include "kernels/on_device.h"

namespace bough {

/// y[i] = x[i] / (1 - p) where uniform_float(stream(i)) >= p, 0 elsewhere; 0 <= p <= 1.
template <typename T>
void dropout(Cpu, std::span<const T> x, double p, RandomStream stream, T* y);

}  // namespace bough
