#include "bough/ops/cast.h"

#include "bough/autograd/autograd.h"
#include "kernels/cpu/cast.h"
#include "kernels/cuda/cast.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"

namespace bough {

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = Tensor::empty(x.shape(), dtype, x.device());
  with_backend(x, [&](auto backend) {
    visit_dtype(x.dtype(), [&]<typename From>(TypeTag<From>) {
      visit_dtype(dtype, [&]<typename To>(TypeTag<To>) {
        if constexpr (!std::is_same_v<From, To>) cast(backend, device_data<From>(x), device_data<To>(y), x.elements());
      });
    });
  });
  if (!is_floating(dtype)) return y;
  // y = x in another precision:  dx = dy in that of x
  return autograd::record(
      {.name = "cast",
       .inputs = {x},
       .backward = [from = x.dtype()](const BackwardCall& call) -> Gradients { return {cast(call.gradient(), from)}; }},
      y);
}

}  // namespace bough
