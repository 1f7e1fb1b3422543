#include "kernels/cpu/binary.h"

#include "bough/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/binary_functions-inl.h"
#include "kernels/cpu/lane_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {

/// Shorter runs than this cost more to set up than to compute: broadcast operands are first written out in full.
constexpr std::int64_t short_run = 16;
constexpr std::int64_t block = 1024;

/// Whether an operand is read from front to back like the result, so that it needs no writing out.
bool is_dense(const BroadcastPlan<2>& plan, int operand) {
  std::int64_t stride = 1;
  for (int axis = plan.rank - 1; axis >= 0; stride *= plan.extents[axis--]) {
    if (plan.strides[operand][axis] != stride) return false;
  }
  return true;
}

/// Elements begin to end-1 of the broadcast operand; `to` has room for short_run more.
template <typename T>
const T* written_out(const BroadcastPlan<2>& plan, int operand, const T* from, std::int64_t begin, std::int64_t end,
                     T* to) {
  if (is_dense(plan, operand)) return from + begin;
  const bool repeats = plan.strides[operand][plan.rank - 1] == 0;
  for_each_run(plan, begin, end, [&](std::int64_t position, std::int64_t length, const auto& offsets) HWY_ATTR {
    T* out = to + (position - begin);
    const T* in = from + offsets[operand];
    if (repeats) {
      std::fill_n(out, short_run, *in);  // a fixed length is a few stores; the next run overwrites what is too much
    } else {
      for (std::int64_t i = 0; i < length; ++i) out[i] = in[i];
    }
  });
  return to;
}

template <typename T, class F>
void apply(const F& f, const BroadcastPlan<2>& plan, const T* a, const T* b, T* result, std::int64_t begin,
           std::int64_t end) {
  using simd::Repeat, simd::Stream;
  if (plan.rank > 1 && plan.inner() < short_run) {
    T room_a[block + short_run], room_b[block + short_run];
    for (std::int64_t from = begin; from < end; from += block) {
      const std::int64_t to = std::min(end, from + block);
      const T* left = written_out(plan, 0, a, from, to, room_a);
      const T* right = written_out(plan, 1, b, from, to, room_b);
      simd::for_each_lane(f, result + from, to - from, Stream<T>{left}, Stream<T>{right});
    }
    return;
  }
  const bool repeat_a = plan.strides[0][plan.rank - 1] == 0, repeat_b = plan.strides[1][plan.rank - 1] == 0;
  for_each_run(plan, begin, end, [&](std::int64_t position, std::int64_t length, const auto& offsets) HWY_ATTR {
    const T *left = a + offsets[0], *right = b + offsets[1];
    T* out = result + position;
    if (repeat_a) {
      simd::for_each_lane(f, out, length, Repeat<T>{*left}, Stream<T>{right});
    } else if (repeat_b) {
      simd::for_each_lane(f, out, length, Stream<T>{left}, Repeat<T>{*right});
    } else {
      simd::for_each_lane(f, out, length, Stream<T>{left}, Stream<T>{right});
    }
  });
}

template <typename T>
void binary_range(BinaryFunction function, const BroadcastPlan<2>& plan, const T* a, const T* b, T* result,
                  std::int64_t begin, std::int64_t end) {
  switch (function) {
    case BinaryFunction::add:
      return apply(Add(), plan, a, b, result, begin, end);
    case BinaryFunction::sub:
      return apply(Sub(), plan, a, b, result, begin, end);
    case BinaryFunction::mul:
      return apply(Mul(), plan, a, b, result, begin, end);
    case BinaryFunction::maximum:
      return apply(Maximum(), plan, a, b, result, begin, end);
    case BinaryFunction::minimum:
      return apply(Minimum(), plan, a, b, result, begin, end);
    case BinaryFunction::div:
      if constexpr (hwy::IsFloat<T>()) return apply(Div(), plan, a, b, result, begin, end);
  }
}

void binary_float(BinaryFunction function, const BroadcastPlan<2>& plan, const float* a, const float* b, float* result,
                  std::int64_t begin, std::int64_t end) {
  binary_range(function, plan, a, b, result, begin, end);
}
void binary_double(BinaryFunction function, const BroadcastPlan<2>& plan, const double* a, const double* b,
                   double* result, std::int64_t begin, std::int64_t end) {
  binary_range(function, plan, a, b, result, begin, end);
}
void binary_int32(BinaryFunction function, const BroadcastPlan<2>& plan, const std::int32_t* a, const std::int32_t* b,
                  std::int32_t* result, std::int64_t begin, std::int64_t end) {
  binary_range(function, plan, a, b, result, begin, end);
}
void binary_int64(BinaryFunction function, const BroadcastPlan<2>& plan, const std::int64_t* a, const std::int64_t* b,
                  std::int64_t* result, std::int64_t begin, std::int64_t end) {
  binary_range(function, plan, a, b, result, begin, end);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(binary_float);
HWY_EXPORT(binary_double);
HWY_EXPORT(binary_int32);
HWY_EXPORT(binary_int64);

template <typename T>
void binary(Cpu, BinaryFunction function, const BroadcastPlan<2>& plan, const T* a, const T* b, T* result) {
  const auto range = [] {
    if constexpr (std::is_same_v<T, float>)
      return HWY_DYNAMIC_DISPATCH(binary_float);
    else if constexpr (std::is_same_v<T, double>)
      return HWY_DYNAMIC_DISPATCH(binary_double);
    else if constexpr (std::is_same_v<T, std::int32_t>)
      return HWY_DYNAMIC_DISPATCH(binary_int32);
    else
      return HWY_DYNAMIC_DISPATCH(binary_int64);
  }();
  parallel_chunks(plan.elements, 1 << 15,
                  [&](std::int64_t begin, std::int64_t end) { range(function, plan, a, b, result, begin, end); });
}

template void binary(Cpu, BinaryFunction, const BroadcastPlan<2>&, const float*, const float*, float*);
template void binary(Cpu, BinaryFunction, const BroadcastPlan<2>&, const double*, const double*, double*);
template void binary(Cpu, BinaryFunction, const BroadcastPlan<2>&, const std::int32_t*, const std::int32_t*,
                     std::int32_t*);
template void binary(Cpu, BinaryFunction, const BroadcastPlan<2>&, const std::int64_t*, const std::int64_t*,
                     std::int64_t*);

}  // namespace bough
#endif
