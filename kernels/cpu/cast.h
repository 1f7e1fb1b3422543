#pragma once

#include "kernels/on_device.h"

namespace bough {

/// to[i] = from[i] converted: towards zero and held within the range for integers, NaN to 0; not zero for bool;
/// the nearest, by way of float, for bfloat16.
template <typename From, typename To>
void cast(Cpu, const From* from, To* to, std::int64_t count);

}  // namespace bough
