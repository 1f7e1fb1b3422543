#pragma once

/// Compiles the same plain code for several instruction sets and runs the best one the machine has.
///
/// Loops over functors must compile inside user code, where there is no SIMD library. They are written so that the
/// compiler vectorises them; this header is the only place that knows for what.
namespace bough::mp {

enum class InstructionSet { baseline, avx2, avx512 };

/// The best one that this machine has and at_best_width compiles for. Asked once.
InstructionSet instruction_set();

#if defined(__AVX512F__) && defined(__AVX512CD__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__) && defined(__FMA__) && defined(__GNUC__)

// The program is compiled for a machine that has the widest vectors, so one version of the body is all it needs.
template <InstructionSet limit = InstructionSet::avx512, typename Body>
[[gnu::flatten]] void at_best_width(const Body& body) {
  body();
}

#elif defined(__x86_64__) && defined(__GNUC__)

template <typename Body>
[[gnu::target("avx512f,avx512cd,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2"), gnu::flatten]] void run_avx512(
    const Body& body) {
  body();
}

template <typename Body>
[[gnu::target("avx2,fma,bmi,bmi2"), gnu::flatten]] void run_avx2(const Body& body) {
  body();
}

template <typename Body>
[[gnu::flatten]] void run_baseline(const Body& body) {
  body();
}

/// Calls body(); everything it calls and the compiler can see is inlined and compiled for the widest vectors, or none
/// wider than `limit`.
template <InstructionSet limit = InstructionSet::avx512, typename Body>
void at_best_width(const Body& body) {
  if constexpr (limit == InstructionSet::baseline) return run_baseline(body);
  switch (instruction_set()) {
    case InstructionSet::avx512:
      if constexpr (limit == InstructionSet::avx512) return run_avx512(body);
      [[fallthrough]];
    case InstructionSet::avx2:
      return run_avx2(body);
    case InstructionSet::baseline:
      return run_baseline(body);
  }
}

#else

template <InstructionSet limit = InstructionSet::avx512, typename Body>
void at_best_width(const Body& body) {
  body();
}

#endif

}  // namespace bough::mp
