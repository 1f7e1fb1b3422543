#pragma once

#include "kernels/on_device.h"
#include "kernels/strided_move.h"

namespace bough {

/// Runs in parallel: whole runs where both sides have them, tiles that fit the first-level cache where source and
/// target run along different axes. Every element type.
template <typename T>
void strided_copy(Cpu, const StridedMove& move, const T* source, T* target);

}  // namespace bough
