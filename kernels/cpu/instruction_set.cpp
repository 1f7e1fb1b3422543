#include "bough/detail/mp/instruction_set.h"

namespace bough::mp {

#if defined(__x86_64__) && defined(__GNUC__)

InstructionSet instruction_set() {
  static const InstructionSet best = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (!avx2) return InstructionSet::baseline;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    return avx512 ? InstructionSet::avx512 : InstructionSet::avx2;
  }();
  return best;
}

#else

InstructionSet instruction_set() { return InstructionSet::baseline; }

#endif

}  // namespace bough::mp
