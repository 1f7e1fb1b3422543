#pragma once

#include "kernels/broadcast.h"
#include "kernels/functors/compare.h"
#include "kernels/on_device.h"

namespace bough {

// Every element type: float, double, int32_t, int64_t, bool.

/// result = a compared with b.
template <typename T>
void compare(Cpu, Comparison comparison, const BroadcastLayout<2>& layout, const T* a, const T* b, bool* result);

/// result = mask ? a : b; operands in the order mask, a, b.
template <typename T>
void select(Cpu, const BroadcastLayout<3>& layout, const bool* mask, const T* a, const T* b, T* result);

/// result = x, repeated.
template <typename T>
void repeat(Cpu, const BroadcastLayout<1>& layout, const T* x, T* result);

}  // namespace bough
