// The activations that a dense layer applies to its sums, as functions with value and gradient. Compiled once per
// instruction set: include it after <hwy/highway.h> inside the usual foreach_target file.
#if defined(BOUGH_KERNELS_CPU_DENSE_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_DENSE_ACTIVATION_INL_H_
#undef BOUGH_KERNELS_CPU_DENSE_ACTIVATION_INL_H_
#else
#define BOUGH_KERNELS_CPU_DENSE_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "bough/ops/matmul.h"
#include "kernels/cpu/unary_functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {

struct Identity {
  template <class D, class V>
  HWY_INLINE V value(D, V z) const {
    return z;
  }
  template <class D, class V>
  HWY_INLINE V gradient(D, V, V dy) const {
    return dy;
  }
};

/// Calls visit with the function, so that the choice is made once and not in every loop.
template <typename Visit>
HWY_INLINE void visit_activation(Activation activation, Visit&& visit) {
  switch (activation) {
    case Activation::none:
      return visit(Identity());
    case Activation::relu:
      return visit(Relu());
    case Activation::gelu:
      return visit(Gelu());
  }
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
