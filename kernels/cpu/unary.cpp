#include "kernels/cpu/unary.h"

#include "bough/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/unary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/lane_loop-inl.h"
#include "kernels/cpu/unary_functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {

template <typename T>
void unary_range(UnaryFunction function, UnaryParameters parameters, const T* x, T* y, std::int64_t count) {
  visit_function(function, parameters, [&](const auto& f) HWY_ATTR {
    const auto value = [&f](auto d, auto v) HWY_ATTR { return f.value(d, v); };
    simd::for_each_lane(value, y, count, simd::Stream<T>{x});
  });
}

template <typename T>
void gradient_range(UnaryFunction function, UnaryParameters parameters, const T* saved, const T* dy, T* dx,
                    std::int64_t count) {
  visit_function(function, parameters, [&](const auto& f) HWY_ATTR {
    const auto gradient = [&f](auto d, auto s, auto v) HWY_ATTR { return f.gradient(d, s, v); };
    simd::for_each_lane(gradient, dx, count, simd::Stream<T>{saved}, simd::Stream<T>{dy});
  });
}

void unary_float(UnaryFunction function, UnaryParameters parameters, const float* x, float* y, std::int64_t count) {
  unary_range(function, parameters, x, y, count);
}
void unary_double(UnaryFunction function, UnaryParameters parameters, const double* x, double* y, std::int64_t count) {
  unary_range(function, parameters, x, y, count);
}
void gradient_float(UnaryFunction function, UnaryParameters parameters, const float* saved, const float* dy, float* dx,
                    std::int64_t count) {
  gradient_range(function, parameters, saved, dy, dx, count);
}
void gradient_double(UnaryFunction function, UnaryParameters parameters, const double* saved, const double* dy,
                     double* dx, std::int64_t count) {
  gradient_range(function, parameters, saved, dy, dx, count);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(unary_float);
HWY_EXPORT(unary_double);
HWY_EXPORT(gradient_float);
HWY_EXPORT(gradient_double);

namespace {

/// Below this a second thread costs more than it gives.
constexpr std::int64_t chunk = 1 << 15;

}  // namespace

template <>
void unary(Cpu, UnaryFunction function, UnaryParameters parameters, const float* x, float* y, std::int64_t count) {
  parallel_chunks(count, chunk, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(unary_float)(function, parameters, x + begin, y + begin, end - begin);
  });
}
template <>
void unary(Cpu, UnaryFunction function, UnaryParameters parameters, const double* x, double* y, std::int64_t count) {
  parallel_chunks(count, chunk, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(unary_double)(function, parameters, x + begin, y + begin, end - begin);
  });
}
template <>
void unary_backward(Cpu, UnaryFunction function, UnaryParameters parameters, const float* saved, const float* dy,
                    float* dx, std::int64_t count) {
  parallel_chunks(count, chunk, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gradient_float)(function, parameters, saved + begin, dy + begin, dx + begin, end - begin);
  });
}
template <>
void unary_backward(Cpu, UnaryFunction function, UnaryParameters parameters, const double* saved, const double* dy,
                    double* dx, std::int64_t count) {
  parallel_chunks(count, chunk, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(gradient_double)(function, parameters, saved + begin, dy + begin, dx + begin, end - begin);
  });
}

}  // namespace bough
#endif
