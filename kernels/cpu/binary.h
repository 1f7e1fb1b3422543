#pragma once

#include "kernels/broadcast.h"
#include "kernels/functors/binary.h"
#include "kernels/on_device.h"

namespace bough {

/// result = f(a, b) over the layout's elements. T: float, double, int32_t, int64_t; div for floats only.
/// The result may be a or b itself where that one is not broadcast.
template <typename T>
void binary(Cpu, BinaryFunction function, const BroadcastLayout<2>& layout, const T* a, const T* b, T* result);

}  // namespace bough
