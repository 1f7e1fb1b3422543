// Elementary functions on Highway vectors, float and double, any number of lanes. Compiled once per instruction set:
// include it after <hwy/highway.h> inside the usual foreach_target file; no #pragma once, the toggle below replaces it.
//
// Largest error, in units in the last place, of both types and over the whole range:
//   exp and exp_of_nonpositive 1.1, log 1, log1p_of_nonnegative 2, expm1_of_nonpositive 1.5, tanh 3, sigmoid 3, normal
//   10
// (where the machine has no fused multiply-add, normal loses another x*x units in the tail). Zeros, infinities, NaN and
// denormal arguments and results come out as from <cmath>, unless a function says otherwise.
//
// The coefficients are minimax polynomials of our own (Remez exchange in 60 digits), rounded to the type.
#if defined(BOUGH_KERNELS_CPU_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_SIMD_MATH_INL_H_
#undef BOUGH_KERNELS_CPU_SIMD_MATH_INL_H_
#else
#define BOUGH_KERNELS_CPU_SIMD_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <array>
#include <limits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE::simd {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
struct Constants;

template <>
struct Constants<float> {
  static constexpr int mantissa_bits = 23;
  static constexpr int exponent_bias = 127;
  // ln 2 in two parts; an exponent times the first is exact.
  static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
  // Beyond these exp is 0 (below half of the smallest denormal) or infinite.
  static constexpr float exp_lowest = -103.98f, exp_highest = 0x1.62e42ep+6f;
  static constexpr float exp_lowest_normal = -0x1.5d589ep+6f;  // e^x is denormal below it
  static constexpr float sqrt_half = 0x1.6a09e6p-1f, smallest_normal = 0x1p-126f, denormal_scale = 0x1p25f;
  static constexpr float denormal_exponent = 25;
  // (e^r - 1 - r) / r^2 on |r| <= ln(2)/2.
  static constexpr std::array<float, 5> exp{0x1p-1f, 0x1.5554dcp-3f, 0x1.5554b8p-5f, 0x1.120be6p-7f, 0x1.6d75eep-10f};
  // (2 atanh(s) - 2s) / s^3 as a polynomial in s^2, s <= (sqrt(2) - 1) / (sqrt(2) + 1).
  static constexpr std::array<float, 3> log{0x1.55555cp-1f, 0x1.997bf8p-2f, 0x1.2eee4ap-2f};
  // e^(z^2) erfc(z) (z + shift) as a polynomial in 1 - 2 shift / (z + shift), z >= 0.
  static constexpr float erfc_shift = 3;
  static constexpr std::array<float, 10> erfc{0x1.12f21ep+0f,   -0x1.c44c48p-1f, 0x1.2e3268p-1f,   -0x1.3deacap-2f,
                                              0x1.e9976cp-4f,   -0x1.b7bf6p-6f,  -0x1.41a9a8p-10f, 0x1.93c70cp-9f,
                                              -0x1.f96874p-12f, -0x1.547e36p-12f};
  static constexpr float normal_limit = 14.5f;  // e^(-x^2/2) is 0 from here on
};

template <>
struct Constants<double> {
  static constexpr int mantissa_bits = 52;
  static constexpr int exponent_bias = 1023;
  static constexpr double ln2_high = 0x1.62e42fefa2p-1, ln2_low = 0x1.9ef35793c7673p-41;
  static constexpr double exp_lowest = -745.14, exp_highest = 0x1.62e42fefa39efp+9;
  static constexpr double exp_lowest_normal = -0x1.6232bdd7abcd2p+9;
  static constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1, smallest_normal = 0x1p-1022, denormal_scale = 0x1p54;
  static constexpr double denormal_exponent = 54;
  static constexpr std::array<double, 10> exp{0x1.0000000000001p-1,  0x1.5555555555558p-3,  0x1.5555555553d35p-5,
                                              0x1.111111110f7d5p-7,  0x1.6c16c1789d8ap-10,  0x1.a01a01b02246cp-13,
                                              0x1.a019b8c8be1fbp-16, 0x1.71ddf6757d7e1p-19, 0x1.2891d676885b5p-22,
                                              0x1.af63a06ec766ep-26};
  static constexpr std::array<double, 7> log{0x1.5555555555558p-1, 0x1.99999999951bfp-2, 0x1.2492492e0f03p-2,
                                             0x1.c71c62c21809fp-3, 0x1.7462be2caad05p-3, 0x1.39fd33f7c7c28p-3,
                                             0x1.2b662bd638363p-3};
  static constexpr double erfc_shift = 4;
  static constexpr std::array<double, 22> erfc{
      0x1.18932bf08e154p+0,   -0x1.f3fe31ecb49c3p-1,  0x1.8be202d26c726p-1,   -0x1.14eacb1ad0185p-1,
      0x1.52cac2370f251p-2,   -0x1.645fd8a4ca1f8p-3,  0x1.38dbd2c934946p-4,   -0x1.b00c05257516bp-6,
      0x1.908f46eca9d58p-8,   -0x1.269b60c13ae35p-12, -0x1.dd2830432df1ep-12, 0x1.72ce4359b20e5p-13,
      -0x1.e80e4ff05ac6p-19,  -0x1.3c7f5ac719b46p-16, 0x1.3b303cadbf414p-18,  0x1.808e734f37c18p-20,
      -0x1.c779e1b20872ap-21, -0x1.755d0fd6d963ep-24, 0x1.0abd71b52fcb6p-23,  0x1.4a01f609b60d5p-27,
      -0x1.d98eebb099474p-27, -0x1.793ccb04fb6a7p-29};
  static constexpr double normal_limit = 39;
};

/// c[0] + c[1] x + c[2] x^2 + ...
template <class D, class V, std::size_t N>
HWY_INLINE V polynomial(D d, V x, const std::array<hn::TFromD<D>, N>& c) {
  V y = hn::Set(d, c[N - 1]);
  [&]<std::size_t... I>(std::index_sequence<I...>) HWY_ATTR { ((y = hn::MulAdd(y, x, hn::Set(d, c[N - 2 - I]))), ...); }
  (std::make_index_sequence<N - 1>());
  return y;
}

/// x = n ln 2 + r with whole n and |r| <= ln(2)/2; e^r - 1 = r + r^2 P(r).
template <class V>
struct ExpReduction {
  V n;
  V expm1_r;
};

/// LayerSchedule to a whole number by adding 1.5 * 2^mantissa_bits: the sum has no bits left for a fraction.
template <typename T>
constexpr T rounding_magic = static_cast<T>(3) * static_cast<T>(std::int64_t{1} << (Constants<T>::mantissa_bits - 1));

template <class D, class V>
HWY_INLINE ExpReduction<V> reduce_for_exp(D d, V x) {
  using T = hn::TFromD<D>;
  using C = Constants<T>;
  const V magic = hn::Set(d, rounding_magic<T>);
  const V n = hn::Sub(hn::MulAdd(x, hn::Set(d, static_cast<T>(1.4426950408889634)), magic), magic);
  const V r = hn::NegMulAdd(n, hn::Set(d, C::ln2_low), hn::NegMulAdd(n, hn::Set(d, C::ln2_high), x));
  return {n, hn::MulAdd(hn::Mul(r, r), polynomial(d, r, C::exp), r)};
}

/// 2^n for whole n from 1 - exponent_bias to exponent_bias: the low bits of n + magic + bias become the exponent.
template <class D, class V>
HWY_INLINE V power_of_two(D d, V n) {
  using T = hn::TFromD<D>;
  using C = Constants<T>;
  const hn::RebindToUnsigned<D> bits;
  const V biased = hn::Add(n, hn::Set(d, rounding_magic<T> + static_cast<T>(C::exponent_bias)));
  return hn::BitCast(d, hn::ShiftLeft<C::mantissa_bits>(hn::BitCast(bits, biased)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
  using T = hn::TFromD<D>;
  using C = Constants<T>;
  const auto vanishes = hn::Lt(x, hn::Set(d, C::exp_lowest));
  const auto overflows = hn::Gt(x, hn::Set(d, C::exp_highest));
  // Lanes that vanish compute e^0 meanwhile: arithmetic on denormals is slow.
  const ExpReduction<V> reduced = reduce_for_exp(d, hn::IfThenZeroElse(vanishes, x));
  // 2^n in two factors, because n reaches from below the smallest normal number to one above the largest.
  const V magic = hn::Set(d, rounding_magic<T>);
  const V half = hn::Sub(hn::MulAdd(reduced.n, hn::Set(d, static_cast<T>(0.5)), magic), magic);
  const V first = power_of_two(d, half), second = power_of_two(d, hn::Sub(reduced.n, half));
  const V y = hn::Mul(hn::MulAdd(reduced.expm1_r, first, first), second);
  return hn::IfThenElse(overflows, hn::Set(d, std::numeric_limits<T>::infinity()), hn::IfThenZeroElse(vanishes, y));
}

/// e^x for x <= 0, or so little above it that rounding may have done it: half the work of exp. What would be a denormal
/// number comes out as 0. NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_nonpositive(D d, V x) {
  using C = Constants<hn::TFromD<D>>;
  const auto vanishes = hn::Lt(x, hn::Set(d, C::exp_lowest_normal));
  const ExpReduction<V> reduced = reduce_for_exp(d, x);
  const V scale = power_of_two(d, reduced.n);
  return hn::IfThenZeroElse(vanishes, hn::MulAdd(reduced.expm1_r, scale, scale));
}

/// e^x - 1 for x <= 0, without cancellation near 0. NaN stays NaN; positive x is not allowed.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1_of_nonpositive(D d, V x) {
  using T = hn::TFromD<D>;
  const V lowest = hn::Set(d, static_cast<T>(-40));  // -1 in both types from here on
  const ExpReduction<V> reduced = reduce_for_exp(d, hn::IfThenElse(hn::Lt(x, lowest), lowest, x));
  const V scale = power_of_two(d, reduced.n);
  return hn::MulAdd(scale, reduced.expm1_r, hn::Sub(scale, hn::Set(d, static_cast<T>(1))));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log(D d, V x) {
  using T = hn::TFromD<D>;
  using C = Constants<T>;
  using Bits = hwy::MakeUnsigned<T>;
  const hn::RebindToUnsigned<D> bits;
  const V one = hn::Set(d, static_cast<T>(1));
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto denormal = hn::Lt(x, hn::Set(d, C::smallest_normal));
  const V normal = hn::IfThenElse(denormal, hn::Mul(x, hn::Set(d, C::denormal_scale)), x);

  // normal = m 2^k with sqrt(1/2) <= m < sqrt(2). The exponent field of normal / sqrt(1/2), bias included, is
  // converted by placing it in the mantissa of 2^mantissa_bits.
  const V sqrt_half = hn::Set(d, C::sqrt_half);
  const auto from_sqrt_half = hn::Sub(hn::BitCast(bits, normal), hn::BitCast(bits, sqrt_half));
  const V two_to_mantissa = hn::Set(d, static_cast<T>(std::int64_t{1} << C::mantissa_bits));
  const auto bias = hn::Set(bits, static_cast<Bits>(C::exponent_bias) << C::mantissa_bits);
  const V biased_k = hn::BitCast(
      d, hn::Or(hn::ShiftRight<C::mantissa_bits>(hn::Add(from_sqrt_half, bias)), hn::BitCast(bits, two_to_mantissa)));
  V k = hn::Sub(biased_k, hn::Add(two_to_mantissa, hn::Set(d, static_cast<T>(C::exponent_bias))));
  k = hn::Sub(k, hn::IfThenElseZero(denormal, hn::Set(d, C::denormal_exponent)));
  const auto mantissa = hn::And(from_sqrt_half, hn::Set(bits, (Bits{1} << C::mantissa_bits) - 1));
  const V m = hn::BitCast(d, hn::Add(mantissa, hn::BitCast(bits, sqrt_half)));

  // With f = m - 1 and s = f / (2 + f):  log m = 2 atanh(s) = f - f^2/2 + s (f^2/2 + s^2 Q(s^2)).
  const V f = hn::Sub(m, one);
  const V s = hn::Div(f, hn::Add(f, hn::Set(d, static_cast<T>(2))));
  const V s2 = hn::Mul(s, s);
  const V half_square = hn::Mul(hn::Mul(f, hn::Set(d, static_cast<T>(0.5))), f);
  const V correction = hn::MulAdd(s2, polynomial(d, s2, C::log), half_square);
  const V low = hn::MulAdd(k, hn::Set(d, C::ln2_low), hn::Mul(s, correction));
  const V y = hn::MulAdd(k, hn::Set(d, C::ln2_high), hn::Sub(f, hn::Sub(half_square, low)));

  const auto regular = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, infinity));
  const V irregular =
      hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity),
                     hn::IfThenElse(hn::Eq(x, infinity), x, hn::Set(d, std::numeric_limits<T>::quiet_NaN())));
  return hn::IfThenElse(regular, y, irregular);
}

/// log(1 + x) for x >= 0, also where 1 + x rounds to 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_of_nonnegative(D d, V x) {
  const V one = hn::Set(d, static_cast<hn::TFromD<D>>(1));
  const V sum = hn::Add(x, one);
  // log(1 + x) = log(sum) + (what rounding lost) / sum, to first order; for large x the loss does not matter.
  const V lost = hn::IfThenElse(hn::Lt(x, one), hn::Sub(x, hn::Sub(sum, one)), hn::Zero(d));
  return hn::Add(log(d, sum), hn::Div(lost, sum));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
  using T = hn::TFromD<D>;
  // tanh|x| = (1 - e^(-2|x|)) / (1 + e^(-2|x|))
  const V e = expm1_of_nonpositive(d, hn::Mul(hn::Abs(x), hn::Set(d, static_cast<T>(-2))));
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, static_cast<T>(2)))), x);
}

/// 1 / (1 + e^-x), to full relative precision also where it is tiny.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, static_cast<hn::TFromD<D>>(1));
  const V e = exp(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

template <class V>
struct Normal {
  V cumulative;  ///< (1 + erf(x / sqrt 2)) / 2, to full relative precision also in the lower tail
  V density;     ///< e^(-x^2/2) / sqrt(2 pi)
};

/// The standard normal distribution at x: both values from one exponential.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Normal<V> normal(D d, V x) {
  using T = hn::TFromD<D>;
  using C = Constants<T>;
  const V half = hn::Set(d, static_cast<T>(0.5)), one = hn::Set(d, static_cast<T>(1));
  const V limit = hn::Set(d, C::normal_limit), size = hn::Abs(x);
  const V a = hn::IfThenElse(hn::Gt(size, limit), limit, size);
  // e^(-a^2/2); what rounding takes from the exponent is put back as a factor.
  const V half_a = hn::Mul(half, a), exponent = hn::Mul(half_a, a);
  const V lost = hn::MulSub(half_a, a, exponent);
  const V rounded = exp(d, hn::Neg(exponent));
  const V gauss = hn::NegMulAdd(rounded, lost, rounded);
  // Upper tail = erfc(z) / 2 with z = a / sqrt 2.
  const V shift = hn::Set(d, C::erfc_shift);
  const V q = hn::Div(one, hn::MulAdd(a, hn::Set(d, static_cast<T>(0.70710678118654752)), shift));
  const V t = hn::NegMulAdd(hn::Add(shift, shift), q, one);
  const V tail = hn::Mul(hn::Mul(half, gauss), hn::Mul(q, polynomial(d, t, C::erfc)));
  return {hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail)),
          hn::Mul(gauss, hn::Set(d, static_cast<T>(0.39894228040143268)))};
}

}  // namespace bough::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif
