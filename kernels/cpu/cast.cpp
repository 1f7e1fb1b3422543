#include "kernels/cpu/cast.h"

#include "bough/core/parallel.h"
#include "kernels/functors/cast.h"

namespace bough {
template <typename From, typename To>
void cast(Cpu, const From* from, To* to, std::int64_t count) {
  parallel_chunks(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = scalar::converted<To>(from[i]);
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
template void cast(Cpu, const float*, bfloat16*, std::int64_t);
template void cast(Cpu, const double*, bfloat16*, std::int64_t);
template void cast(Cpu, const std::int32_t*, bfloat16*, std::int64_t);
template void cast(Cpu, const std::int64_t*, bfloat16*, std::int64_t);
template void cast(Cpu, const bool*, bfloat16*, std::int64_t);
template void cast(Cpu, const bfloat16*, float*, std::int64_t);
template void cast(Cpu, const bfloat16*, double*, std::int64_t);
template void cast(Cpu, const bfloat16*, std::int32_t*, std::int64_t);
template void cast(Cpu, const bfloat16*, std::int64_t*, std::int64_t);
template void cast(Cpu, const bfloat16*, bool*, std::int64_t);

}  // namespace bough
