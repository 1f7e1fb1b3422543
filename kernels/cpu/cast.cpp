#include "kernels/cpu/cast.h"

#include <limits>

#include "bough/core/parallel.h"

namespace bough {
namespace {

template <typename To, typename From>
To converted(From value) {
  if constexpr (std::is_same_v<To, bool>) {
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

}  // namespace

template <typename From, typename To>
void cast(Cpu, const From* from, To* to, std::int64_t count) {
  parallel_chunks(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = converted<To>(from[i]);
  });
}

template void cast(Cpu, const float*, double*, std::int64_t);
template void cast(Cpu, const float*, std::int32_t*, std::int64_t);
template void cast(Cpu, const float*, std::int64_t*, std::int64_t);
template void cast(Cpu, const float*, bool*, std::int64_t);
template void cast(Cpu, const double*, float*, std::int64_t);
template void cast(Cpu, const double*, std::int32_t*, std::int64_t);
template void cast(Cpu, const double*, std::int64_t*, std::int64_t);
template void cast(Cpu, const double*, bool*, std::int64_t);
template void cast(Cpu, const std::int32_t*, float*, std::int64_t);
template void cast(Cpu, const std::int32_t*, double*, std::int64_t);
template void cast(Cpu, const std::int32_t*, std::int64_t*, std::int64_t);
template void cast(Cpu, const std::int32_t*, bool*, std::int64_t);
template void cast(Cpu, const std::int64_t*, float*, std::int64_t);
template void cast(Cpu, const std::int64_t*, double*, std::int64_t);
template void cast(Cpu, const std::int64_t*, std::int32_t*, std::int64_t);
template void cast(Cpu, const std::int64_t*, bool*, std::int64_t);
template void cast(Cpu, const bool*, float*, std::int64_t);
template void cast(Cpu, const bool*, double*, std::int64_t);
template void cast(Cpu, const bool*, std::int32_t*, std::int64_t);
template void cast(Cpu, const bool*, std::int64_t*, std::int64_t);

}  // namespace bough
