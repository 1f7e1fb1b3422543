#include "bough/ops/cast.h"

#include "bough/autograd/autograd.h"
#include "kernels/cpu/cast.h"

namespace bough {

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = Tensor::empty(x.shape(), dtype, x.device());
  on_device_any_type("cast", x, [&]<typename From>(auto backend, TypeTag<From>) {
    visit_dtype(dtype, [&]<typename To>(TypeTag<To>) {
      if constexpr (!std::is_same_v<From, To>) cast(backend, x.data<From>(), y.data<To>(), x.elements());
    });
  });
  if (!is_floating(dtype)) return y;
  // y = x in another precision:  dx = dy in that of x
  return record(
      {.name = "cast",
       .inputs = {x},
       .backward = [from = x.dtype()](const BackwardCall& call) -> Gradients { return {cast(call.gradient(), from)}; }},
      y);
}

}  // namespace bough
