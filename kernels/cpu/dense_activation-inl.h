// The activations of dense layers on Highway vectors, value and gradient. Compiled once per instruction set: include it
// after <hwy/highway.h> inside the usual foreach_target file.
#if defined(BOUGH_KERNELS_CPU_DENSE_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_DENSE_ACTIVATION_INL_H_
#undef BOUGH_KERNELS_CPU_DENSE_ACTIVATION_INL_H_
#else
#define BOUGH_KERNELS_CPU_DENSE_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "bough/ops/matmul.h"
#include "kernels/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE::dense {
namespace hn = hwy::HWY_NAMESPACE;

struct None {
  template <class D, class V>
  HWY_INLINE V value(D, V z) const {
    return z;
  }
  template <class D, class V>
  HWY_INLINE V gradient(D, V, V dy) const {
    return dy;
  }
};

struct Relu {
  template <class D, class V>
  HWY_INLINE V value(D d, V z) const {
    return hn::IfThenZeroElse(hn::Lt(z, hn::Zero(d)), z);  // NaN stays NaN
  }
  // y = max(z, 0):  dz = dy where y > 0
  template <class D, class V>
  HWY_INLINE V gradient(D d, V y, V dy) const {
    return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), dy);
  }
};

struct Gelu {
  template <class D, class V>
  HWY_INLINE V value(D d, V z) const {
    return hn::Mul(z, simd::normal(d, z).cumulative);
  }
  // y = z P(z), P the cumulative normal distribution with density p:  dz = (P(z) + z p(z)) dy
  template <class D, class V>
  HWY_INLINE V gradient(D d, V z, V dy) const {
    const auto normal = simd::normal(d, z);
    return hn::Mul(hn::MulAdd(z, normal.density, normal.cumulative), dy);
  }
};

/// Calls visit with the function's type, so that the choice is made once and not in every loop.
template <typename Visit>
HWY_INLINE void visit_activation(Activation activation, Visit&& visit) {
  switch (activation) {
    case Activation::none:
      return visit(None());
    case Activation::relu:
      return visit(Relu());
    case Activation::gelu:
      return visit(Gelu());
  }
}

}  // namespace bough::HWY_NAMESPACE::dense
HWY_AFTER_NAMESPACE();

#endif
