#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bough/core/random.h"
#include "tests/support/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/simd_math_test.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd_math-inl.h"

#ifndef BOUGH_TESTS_KERNELS_SIMD_MATH_FUNCTION_
#define BOUGH_TESTS_KERNELS_SIMD_MATH_FUNCTION_
namespace bough::test {
enum class Function { exp, exp_of_nonpositive, log, log1p, expm1, tanh, sigmoid, normal_cumulative, normal_density };
}
#endif

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using test::Function;

template <typename T>
void evaluate(Function function, const std::vector<T>& arguments, std::vector<T>& results) {
  const hn::ScalableTag<T> d;
  const auto one_lane_at_a_time = [&](const auto& f) {
    for (std::size_t i = 0; i < arguments.size(); ++i) results[i] = hn::GetLane(f(hn::Set(d, arguments[i])));
  };
  switch (function) {
    case Function::exp:
      return one_lane_at_a_time([&](auto x) { return simd::exp(d, x); });
    case Function::exp_of_nonpositive:
      return one_lane_at_a_time([&](auto x) { return simd::exp_of_nonpositive(d, x); });
    case Function::log:
      return one_lane_at_a_time([&](auto x) { return simd::log(d, x); });
    case Function::log1p:
      return one_lane_at_a_time([&](auto x) { return simd::log1p_of_nonnegative(d, x); });
    case Function::expm1:
      return one_lane_at_a_time([&](auto x) { return simd::expm1_of_nonpositive(d, x); });
    case Function::tanh:
      return one_lane_at_a_time([&](auto x) { return simd::tanh(d, x); });
    case Function::sigmoid:
      return one_lane_at_a_time([&](auto x) { return simd::sigmoid(d, x); });
    case Function::normal_cumulative:
      return one_lane_at_a_time([&](auto x) { return simd::normal(d, x).cumulative; });
    case Function::normal_density:
      return one_lane_at_a_time([&](auto x) { return simd::normal(d, x).density; });
  }
}

void evaluate_float(Function function, const std::vector<float>& arguments, std::vector<float>& results) {
  evaluate(function, arguments, results);
}
void evaluate_double(Function function, const std::vector<double>& arguments, std::vector<double>& results) {
  evaluate(function, arguments, results);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {
HWY_EXPORT(evaluate_float);
HWY_EXPORT(evaluate_double);
}  // namespace bough

namespace bough::test {
namespace {

std::vector<float> evaluate(Function function, const std::vector<float>& arguments) {
  std::vector<float> results(arguments.size());
  HWY_DYNAMIC_DISPATCH(bough::evaluate_float)(function, arguments, results);
  return results;
}
std::vector<double> evaluate(Function function, const std::vector<double>& arguments) {
  std::vector<double> results(arguments.size());
  HWY_DYNAMIC_DISPATCH(bough::evaluate_double)(function, arguments, results);
  return results;
}

long double exact(Function function, long double x) {
  switch (function) {
    case Function::exp:
    case Function::exp_of_nonpositive:
      return std::exp(x);
    case Function::log:
      return std::log(x);
    case Function::log1p:
      return std::log1p(x);
    case Function::expm1:
      return std::expm1(x);
    case Function::tanh:
      return std::tanh(x);
    case Function::sigmoid:
      return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
    case Function::normal_cumulative:
      return std::erfc(-x / std::sqrt(2.0L)) / 2;
    case Function::normal_density:
      break;
  }
  return std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846264338327950288L);
}

/// Distance in units in the last place of T at the exact value; infinite if only one of the two is a number.
template <typename T>
long double units_apart(T actual, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (actual == rounded || (std::isnan(actual) && std::isnan(rounded))) return 0;
  if (!std::isfinite(actual) || !std::isfinite(rounded)) return INFINITY;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  using Limits = std::numeric_limits<T>;
  const int unit = std::max(exponent, Limits::min_exponent) - Limits::digits;
  return std::abs(actual - expected) / std::ldexp(1.0L, unit);
}

/// Arguments of every size and sign; denormals, zeros, infinities and NaN among them.
template <typename T>
std::vector<T> arguments() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{T{0},
                        -T{0},
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        T{1},
                        T{-1},
                        Limits::max(),
                        Limits::lowest(),
                        Limits::min(),
                        -Limits::min(),
                        Limits::denorm_min(),
                        -Limits::denorm_min(),
                        3 * Limits::denorm_min()};
  // Both sides of where exp turns to infinity, to denormals and to zero.
  for (double edge : {88.7228394, -87.3365447, -103.2789, -103.972077, 709.782712893384, -708.3964, -744.4400719213812,
                      -745.1332191019412}) {
    const T x = static_cast<T>(edge);
    values.insert(values.end(), {x, std::nextafter(x, T{0}), std::nextafter(x, 2 * x)});
  }
  const RandomStream stream{7, 0};
  for (std::uint64_t i = 0; i < 40000; ++i) {
    const double uniform = 2 * uniform_float(stream(i)) - 1;
    const double widths[] = {1, 20, 110, 800};
    values.push_back(static_cast<T>(uniform * widths[i % 4]));
    const double size = std::exp(uniform * (sizeof(T) == 4 ? 87 : 700));
    values.push_back(static_cast<T>(i % 2 == 0 ? size : -size));
  }
  return values;
}

struct Bound {
  Function function;
  double units;
  double lowest, highest;  ///< arguments outside are not part of the contract
};

constexpr double infinity = std::numeric_limits<double>::infinity();
const Bound bounds[] = {{Function::exp, 1.1, -infinity, infinity},
                        {Function::exp_of_nonpositive, 1.1, -87.3365, 1e-3},
                        {Function::log, 1, -infinity, infinity},
                        {Function::log1p, 2, 0, infinity},
                        {Function::expm1, 1.5, -infinity, 0},
                        {Function::tanh, 3, -infinity, infinity},
                        {Function::sigmoid, 3, -infinity, infinity},
                        {Function::normal_cumulative, 10, -infinity, infinity},
                        {Function::normal_density, 10, -infinity, infinity}};

/// The tail of the normal distribution needs the rounding error of x*x, which only a fused multiply-add gives.
double without_fused_multiply_add(Function function, double x) {
  const bool normal = function == Function::normal_cumulative || function == Function::normal_density;
  return normal && hwy::SupportedTargets() >= HWY_SCALAR ? x * x : 0;
}

template <typename T>
void expect_within_bounds() {
  for (const Bound& bound : bounds) {
    SCOPED_TRACE(testing::Message() << "function " << static_cast<int>(bound.function));
    std::vector<T> inside;
    for (T x : arguments<T>()) {
      if (std::isnan(x) || (x >= bound.lowest && x <= bound.highest)) inside.push_back(x);
    }
    const std::vector<T> results = evaluate(bound.function, inside);
    long double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const long double distance = units_apart(results[i], exact(bound.function, inside[i])) -
                                   without_fused_multiply_add(bound.function, static_cast<double>(inside[i]));
      if (distance > worst) {
        worst = distance;
        at = i;
      }
    }
    EXPECT_LE(worst, bound.units) << "at " << inside[at] << ": " << results[at] << " instead of "
                                  << exact(bound.function, inside[at]);
  }
}

TEST(SimdMath, KeepsItsErrorBoundsInFloatOnEveryInstructionSet) { on_every_simd_target(expect_within_bounds<float>); }

TEST(SimdMath, KeepsItsErrorBoundsInDoubleOnEveryInstructionSet) { on_every_simd_target(expect_within_bounds<double>); }

TEST(SimdMath, ExpOfNonpositiveGivesZeroInsteadOfDenormals) {
  on_every_simd_target([] {
    for (float x : {-87.34f, -100.0f, -1e4f, -3e38f, -INFINITY}) {
      EXPECT_EQ(evaluate(Function::exp_of_nonpositive, std::vector<float>{x})[0], 0);
    }
    for (double x : {-708.4, -740.0, -1e4, -1.7e308, -infinity}) {
      EXPECT_EQ(evaluate(Function::exp_of_nonpositive, std::vector<double>{x})[0], 0);
    }
    EXPECT_GT(evaluate(Function::exp_of_nonpositive, std::vector<double>{-708.39})[0], 0);
  });
}

TEST(SimdMath, KeepsTheSignOfZero) {
  on_every_simd_target([] {
    EXPECT_TRUE(std::signbit(evaluate(Function::tanh, std::vector<float>{-0.0f})[0]));
    EXPECT_FALSE(std::signbit(evaluate(Function::tanh, std::vector<float>{0.0f})[0]));
  });
}

}  // namespace
}  // namespace bough::test
#endif
