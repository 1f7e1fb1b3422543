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
bool is_dense(const BroadcastLayout<2>& layout, int operand) {
  std::int64_t stride = 1;
  for (int axis = layout.rank - 1; axis >= 0; stride *= layout.extents[axis--]) {
    if (layout.strides[operand][axis] != stride) return false;
  }
  return true;
}

/// Elements begin to end-1 of the broadcast operand; `to` has room for short_run more.
template <typename T>
const T* written_out(const BroadcastLayout<2>& layout, int operand, const T* from, std::int64_t begin, std::int64_t end,
                     T* to) {
  if (is_dense(layout, operand)) return from + begin;
  const bool repeats = layout.strides[operand][layout.rank - 1] == 0;
  for_each_run(layout, begin, end, [&](std::int64_t position, std::int64_t length, const auto& offsets) HWY_ATTR {
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
void apply(const F& f, const BroadcastLayout<2>& layout, const T* a, const T* b, T* result, std::int64_t begin,
           std::int64_t end) {
  using simd::Repeat, simd::Stream;
  if (layout.rank > 1 && layout.inner() < short_run) {
    T room_a[block + short_run], room_b[block + short_run];
    for (std::int64_t from = begin; from < end; from += block) {
      const std::int64_t to = std::min(end, from + block);
      const T* left = written_out(layout, 0, a, from, to, room_a);
      const T* right = written_out(layout, 1, b, from, to, room_b);
      simd::for_each_lane(f, result + from, to - from, Stream<T>{left}, Stream<T>{right});
    }
    return;
  }
  const bool repeat_a = layout.strides[0][layout.rank - 1] == 0, repeat_b = layout.strides[1][layout.rank - 1] == 0;
  for_each_run(layout, begin, end, [&](std::int64_t position, std::int64_t length, const auto& offsets) HWY_ATTR {
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
void binary_range(BinaryFunction function, const BroadcastLayout<2>& layout, const T* a, const T* b, T* result,
                  std::int64_t begin, std::int64_t end) {
  switch (function) {
    case BinaryFunction::add:
      return apply(Add(), layout, a, b, result, begin, end);
    case BinaryFunction::sub:
      return apply(Sub(), layout, a, b, result, begin, end);
    case BinaryFunction::mul:
      return apply(Mul(), layout, a, b, result, begin, end);
    case BinaryFunction::maximum:
      return apply(Maximum(), layout, a, b, result, begin, end);
    case BinaryFunction::minimum:
      return apply(Minimum(), layout, a, b, result, begin, end);
    case BinaryFunction::div:
      if constexpr (hwy::IsFloat<T>()) return apply(Div(), layout, a, b, result, begin, end);
  }
}

void binary_float(BinaryFunction function, const BroadcastLayout<2>& layout, const float* a, const float* b,
                  float* result, std::int64_t begin, std::int64_t end) {
  binary_range(function, layout, a, b, result, begin, end);
}
void binary_double(BinaryFunction function, const BroadcastLayout<2>& layout, const double* a, const double* b,
                   double* result, std::int64_t begin, std::int64_t end) {
  binary_range(function, layout, a, b, result, begin, end);
}
void binary_int32(BinaryFunction function, const BroadcastLayout<2>& layout, const std::int32_t* a,
                  const std::int32_t* b, std::int32_t* result, std::int64_t begin, std::int64_t end) {
  binary_range(function, layout, a, b, result, begin, end);
}
void binary_int64(BinaryFunction function, const BroadcastLayout<2>& layout, const std::int64_t* a,
                  const std::int64_t* b, std::int64_t* result, std::int64_t begin, std::int64_t end) {
  binary_range(function, layout, a, b, result, begin, end);
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
void binary(Cpu, BinaryFunction function, const BroadcastLayout<2>& layout, const T* a, const T* b, T* result) {
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
  parallel_chunks(layout.elements, 1 << 15,
                  [&](std::int64_t begin, std::int64_t end) { range(function, layout, a, b, result, begin, end); });
}

template void binary(Cpu, BinaryFunction, const BroadcastLayout<2>&, const float*, const float*, float*);
template void binary(Cpu, BinaryFunction, const BroadcastLayout<2>&, const double*, const double*, double*);
template void binary(Cpu, BinaryFunction, const BroadcastLayout<2>&, const std::int32_t*, const std::int32_t*,
                     std::int32_t*);
template void binary(Cpu, BinaryFunction, const BroadcastLayout<2>&, const std::int64_t*, const std::int64_t*,
                     std::int64_t*);

}  // namespace bough
#endif
