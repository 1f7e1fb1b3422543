// The functions of UnaryFunction, each with its gradient beside it. Compiled once per instruction set.
//
// value(d, x) gives y; gradient(d, s, dy) gives dx, where s is y or x as saves_result says.
#if defined(BOUGH_KERNELS_CPU_UNARY_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_UNARY_FUNCTIONS_INL_H_
#undef BOUGH_KERNELS_CPU_UNARY_FUNCTIONS_INL_H_
#else
#define BOUGH_KERNELS_CPU_UNARY_FUNCTIONS_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>

#include "kernels/cpu/simd_math-inl.h"
#include "kernels/cpu/unary.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

/// Limits x to where the gates below have long closed or opened, so that infinity times 0 cannot arise. What becomes of
/// NaN does not matter: the gate it is multiplied with is NaN too.
template <class D, class V>
HWY_INLINE V bounded_below(D d, V x) {
  return hn::Max(x, constant(d, -1000));
}
template <class D, class V>
HWY_INLINE V bounded(D d, V x) {
  return hn::Min(bounded_below(d, x), constant(d, 1000));
}

struct Absolute {
  template <class D, class V>
  HWY_INLINE V value(D, V x) const {
    return hn::Abs(x);
  }
  // y = |x|:  dx = sign(x) dy, 0 at 0
  template <class D, class V>
  HWY_INLINE V gradient(D d, V x, V dy) const {
    const V zero = hn::Zero(d);
    return hn::IfThenElse(hn::Lt(x, zero), hn::Neg(dy), hn::IfThenZeroElse(hn::Eq(x, zero), dy));
  }
};

struct Square {
  template <class D, class V>
  HWY_INLINE V value(D, V x) const {
    return hn::Mul(x, x);
  }
  // y = x^2:  dx = 2 x dy
  template <class D, class V>
  HWY_INLINE V gradient(D, V x, V dy) const {
    return hn::Mul(hn::Add(x, x), dy);
  }
};

struct SquareRoot {
  template <class D, class V>
  HWY_INLINE V value(D, V x) const {
    return hn::Sqrt(x);
  }
  // y = sqrt(x):  dx = dy / (2 y)
  template <class D, class V>
  HWY_INLINE V gradient(D, V y, V dy) const {
    return hn::Div(dy, hn::Add(y, y));
  }
};

struct Reciprocal {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return hn::Div(constant(d, 1), x);
  }
  // y = 1 / x:  dx = -y^2 dy
  template <class D, class V>
  HWY_INLINE V gradient(D, V y, V dy) const {
    return hn::Mul(hn::Neg(hn::Mul(y, y)), dy);
  }
};

struct ReciprocalSquareRoot {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return hn::Div(constant(d, 1), hn::Sqrt(x));
  }
  // y = x^(-1/2):  dx = -y^3 dy / 2
  template <class D, class V>
  HWY_INLINE V gradient(D d, V y, V dy) const {
    return hn::Mul(hn::Mul(hn::Mul(y, y), hn::Mul(y, constant(d, -0.5))), dy);
  }
};

struct Power {
  double exponent;

  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return power(d, x, exponent);
  }
  // y = x^p:  dx = p x^(p-1) dy; 0 for p = 0, also where x^-1 is infinite
  template <class D, class V>
  HWY_INLINE V gradient(D d, V x, V dy) const {
    if (exponent == 0) return hn::Zero(d);
    return hn::Mul(hn::Mul(constant(d, exponent), power(d, x, exponent - 1)), dy);
  }

 private:
  template <class D, class V>
  static HWY_INLINE V power(D d, V x, double p) {
    using T = hn::TFromD<D>;
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(x, d, lanes);
    if constexpr (sizeof(T) == sizeof(double)) {
      for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = std::pow(lanes[i], p);
    } else {
      // e^(p log x) in double is exact to the last bit of a float, or nearly so.
      const hn::ScalableTag<double> wide;
      const hn::Rebind<float, decltype(wide)> half;
      HWY_ALIGN double powers[hn::MaxLanes(wide)];
      for (std::size_t i = 0; i < hn::Lanes(d); i += hn::Lanes(wide)) {
        hn::Store(wide_power(wide, hn::PromoteTo(wide, hn::Load(half, lanes + i)), p), wide, powers);
        // Not DemoteTo, which may stop at the largest float instead of infinity.
        for (std::size_t j = 0; j < hn::Lanes(wide); ++j) lanes[i + j] = static_cast<float>(powers[j]);
      }
    }
    return hn::Load(d, lanes);
  }

  template <class D, class V>
  static HWY_INLINE V wide_power(D d, V x, double p) {
    if (p == 0) return hn::Set(d, 1.0);
    const V size = hn::Abs(x);
    const V y = simd::exp(d, hn::Mul(hn::Set(d, p), simd::log(d, size)));
    const bool whole = std::trunc(p) == p, odd = whole && std::fmod(p, 2) != 0;
    if (odd) return hn::CopySign(y, x);
    if (whole) return y;
    const auto undefined =
        hn::And(hn::Lt(x, hn::Zero(d)), hn::Lt(size, hn::Set(d, std::numeric_limits<double>::infinity())));
    return hn::IfThenElse(undefined, hn::Set(d, std::numeric_limits<double>::quiet_NaN()), y);
  }
};

struct Clamp {
  double low, high;

  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    const V bottom = constant(d, low), top = constant(d, high);
    return hn::IfThenElse(hn::Lt(x, bottom), bottom, hn::IfThenElse(hn::Gt(x, top), top, x));
  }
  // y = x limited to [low, high]:  dx = dy where low <= x <= high
  template <class D, class V>
  HWY_INLINE V gradient(D d, V x, V dy) const {
    return hn::IfThenElseZero(hn::And(hn::Ge(x, constant(d, low)), hn::Le(x, constant(d, high))), dy);
  }
};

struct Exponential {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return simd::exp(d, x);
  }
  // y = e^x:  dx = y dy
  template <class D, class V>
  HWY_INLINE V gradient(D, V y, V dy) const {
    return hn::Mul(y, dy);
  }
};

struct Logarithm {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return simd::log(d, x);
  }
  // y = log(x):  dx = dy / x
  template <class D, class V>
  HWY_INLINE V gradient(D, V x, V dy) const {
    return hn::Div(dy, x);
  }
};

struct Tanh {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return simd::tanh(d, x);
  }
  // y = tanh(x):  dx = (1 - y^2) dy
  template <class D, class V>
  HWY_INLINE V gradient(D d, V y, V dy) const {
    return hn::Mul(hn::NegMulAdd(y, y, constant(d, 1)), dy);
  }
};

struct Sigmoid {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return simd::sigmoid(d, x);
  }
  // y = 1 / (1 + e^-x):  dx = y (1 - y) dy
  template <class D, class V>
  HWY_INLINE V gradient(D, V y, V dy) const {
    return hn::Mul(hn::NegMulAdd(y, y, y), dy);
  }
};

struct Silu {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return hn::Mul(bounded_below(d, x), simd::sigmoid(d, x));
  }
  // y = x s with s = sigmoid(x):  dx = s (1 + x (1 - s)) dy
  template <class D, class V>
  HWY_INLINE V gradient(D d, V x, V dy) const {
    const V one = constant(d, 1), s = simd::sigmoid(d, x);
    return hn::Mul(hn::Mul(s, hn::MulAdd(bounded(d, x), hn::Sub(one, s), one)), dy);
  }
};

struct Relu {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);  // NaN stays NaN
  }
  // y = max(x, 0):  dx = dy where y > 0
  template <class D, class V>
  HWY_INLINE V gradient(D d, V y, V dy) const {
    return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), dy);
  }
};

struct LeakyRelu {
  double slope;

  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, constant(d, slope)));
  }
  // y = x or slope x, of the same sign:  dx = dy where y > 0, else slope dy
  template <class D, class V>
  HWY_INLINE V gradient(D d, V y, V dy) const {
    return hn::IfThenElse(hn::Gt(y, hn::Zero(d)), dy, hn::Mul(dy, constant(d, slope)));
  }
};

struct Softplus {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
    const V rest = simd::log1p_of_nonnegative(d, simd::exp(d, hn::Neg(hn::Abs(x))));
    return hn::Add(hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x), rest);
  }
  // y = log(1 + e^x):  dx = sigmoid(x) dy = (1 - e^-y) dy
  template <class D, class V>
  HWY_INLINE V gradient(D d, V y, V dy) const {
    return hn::Mul(hn::Neg(simd::expm1_of_nonpositive(d, hn::Neg(y))), dy);
  }
};

struct Elu {
  double alpha;

  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    const auto positive = hn::Gt(x, hn::Zero(d));
    const V below = hn::Mul(constant(d, alpha), simd::expm1_of_nonpositive(d, hn::IfThenZeroElse(positive, x)));
    return hn::IfThenElse(positive, x, below);
  }
  // y = x, or alpha (e^x - 1) below 0:  dx = dy where y > 0, else (y + alpha) dy
  template <class D, class V>
  HWY_INLINE V gradient(D d, V y, V dy) const {
    return hn::IfThenElse(hn::Gt(y, hn::Zero(d)), dy, hn::Mul(hn::Add(y, constant(d, alpha)), dy));
  }
};

struct Gelu {
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return hn::Mul(bounded_below(d, x), simd::normal(d, x).cumulative);
  }
  // y = x P(x), P the cumulative normal distribution with density p:  dx = (P(x) + x p(x)) dy
  template <class D, class V>
  HWY_INLINE V gradient(D d, V x, V dy) const {
    const auto normal = simd::normal(d, x);
    return hn::Mul(hn::MulAdd(bounded(d, x), normal.density, normal.cumulative), dy);
  }
};

struct GeluTanh {
  static constexpr double twice_scale = 1.5957691216057308;  // 2 sqrt(2 / pi)
  static constexpr double cubic = 0.044715;

  // (1 + tanh(u)) / 2 = sigmoid(2u) with u = sqrt(2/pi) (x + cubic x^3)
  template <class D, class V>
  static HWY_INLINE V gate(D d, V x) {
    const V inner = hn::MulAdd(hn::Mul(constant(d, cubic), x), hn::Mul(x, x), x);
    return simd::sigmoid(d, hn::Mul(constant(d, twice_scale), inner));
  }
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    return hn::Mul(bounded_below(d, x), gate(d, x));
  }
  // y = x s(2u):  dx = (s + x s (1 - s) 2u') dy,  u' = sqrt(2/pi) (1 + 3 cubic x^2)
  template <class D, class V>
  HWY_INLINE V gradient(D d, V x, V dy) const {
    const V s = gate(d, x), limited = bounded(d, x);
    const V slope =
        hn::MulAdd(constant(d, 3 * cubic * twice_scale), hn::Mul(limited, limited), constant(d, twice_scale));
    return hn::Mul(hn::MulAdd(hn::Mul(limited, slope), hn::NegMulAdd(s, s, s), s), dy);
  }
};

/// Calls visit with the functor of a function.
template <class Visit>
HWY_INLINE void visit_function(UnaryFunction function, UnaryParameters parameters, const Visit& visit) {
  switch (function) {
    case UnaryFunction::abs:
      return visit(Absolute());
    case UnaryFunction::square:
      return visit(Square());
    case UnaryFunction::sqrt:
      return visit(SquareRoot());
    case UnaryFunction::reciprocal:
      return visit(Reciprocal());
    case UnaryFunction::rsqrt:
      return visit(ReciprocalSquareRoot());
    case UnaryFunction::pow:
      return visit(Power{parameters.first});
    case UnaryFunction::clamp:
      return visit(Clamp{parameters.first, parameters.second});
    case UnaryFunction::exp:
      return visit(Exponential());
    case UnaryFunction::log:
      return visit(Logarithm());
    case UnaryFunction::tanh:
      return visit(Tanh());
    case UnaryFunction::sigmoid:
      return visit(Sigmoid());
    case UnaryFunction::silu:
      return visit(Silu());
    case UnaryFunction::relu:
      return visit(Relu());
    case UnaryFunction::leaky_relu:
      return visit(LeakyRelu{parameters.first});
    case UnaryFunction::softplus:
      return visit(Softplus());
    case UnaryFunction::elu:
      return visit(Elu{parameters.first});
    case UnaryFunction::gelu:
      return visit(Gelu());
    case UnaryFunction::gelu_tanh:
      return visit(GeluTanh());
  }
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
