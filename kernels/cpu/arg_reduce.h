#pragma once

#include "kernels/cpu/reduce.h"

namespace bough {

/// The extreme value of each [o, :, i] and the first position where it stands; a NaN counts as more extreme than any
/// number. `extreme` is max or min; reduced >= 1. T: float, double, int32_t, int64_t.
template <typename T>
void arg_reduce(Cpu, AxisReduction extreme, const ReduceShape& shape, const T* x, T* values, std::int64_t* positions);

/// dx[o, positions[o, i], i] = dy[o, i], 0 elsewhere. T: float, double.
template <typename T>
void arg_reduce_backward(Cpu, const ReduceShape& shape, const std::int64_t* positions, const T* dy, T* dx);

}  // namespace bough
