#pragma once

#include "kernels/broadcast.h"
#include "kernels/functors/compare.h"
#include "kernels/on_device.h"

namespace bough {

// Every element type: float, double, int32_t, int64_t, bool.

/// result = a compared with b.
template <typename T>
void compare(Cpu, Comparison comparison, const BroadcastPlan<2>& plan, const T* a, const T* b, bool* result);

/// result = mask ? a : b; operands in the order mask, a, b.
template <typename T>
void select(Cpu, const BroadcastPlan<3>& plan, const bool* mask, const T* a, const T* b, T* result);

/// result = x, repeated.
template <typename T>
void repeat(Cpu, const BroadcastPlan<1>& plan, const T* x, T* result);

}  // namespace bough
