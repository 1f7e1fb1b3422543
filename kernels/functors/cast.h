#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "bough/core/bfloat16.h"
#include "bough/detail/host_device.h"

namespace bough::scalar {

/// Towards zero and held within the range for integers, NaN to 0; not zero for bool; the nearest for bfloat16.
template <typename To, typename From>
BOUGH_HOST_DEVICE To converted(From value) {
  if constexpr (std::is_same_v<From, bfloat16>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The smallest integer is a power of two and exact in every float; the largest is not, so compare with -smallest.
    constexpr From lowest = static_cast<From>(std::numeric_limits<To>::min());
    if (value >= -lowest) return std::numeric_limits<To>::max();
    if (value < lowest) return std::numeric_limits<To>::min();
    return value == value ? static_cast<To>(value) : To{0};
  } else if constexpr (std::is_same_v<From, std::int64_t> && std::is_same_v<To, std::int32_t>) {
    using Limits = std::numeric_limits<To>;
    return static_cast<To>(value < Limits::min() ? Limits::min() : value > Limits::max() ? Limits::max() : value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace bough::scalar
