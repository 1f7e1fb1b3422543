#include "bough/ops/softmax.h"

#include "bough/autograd/autograd.h"
#include "kernels/cpu/softmax.h"
#include "kernels/on_device.h"

namespace bough {
namespace {

AxisExtents around_axis(const char* where, const Shape& shape, int axis) {
  axis = resolve_axis(where, axis, shape.rank());
  if (shape.elements() == 0) return {};
  AxisExtents extents{.outer = 1, .length = shape[axis], .inner = 1};
  for (int i = 0; i < axis; ++i) extents.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) extents.inner *= shape[i];
  return extents;
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  const AxisExtents extents = around_axis("softmax", x.shape(), axis);
  Tensor y = empty_like(x);
  on_device("softmax", x,
            [&]<typename T>(auto backend, TypeTag<T>) { softmax(backend, extents, x.data<T>(), y.data<T>()); });
  // y = softmax(x):  dx = y * (dy - sum(y * dy))
  return record({.name = "softmax",
                 .inputs = {x},
                 .saved = {y},
                 .backward = [extents](const BackwardCall& call) -> Gradients {
                   Tensor dx = empty_like(call.gradient());
                   on_device("softmax", dx, [&]<typename T>(auto backend, TypeTag<T>) {
                     softmax_backward<T>(backend, extents, call.saved(0).data<T>(), call.gradient().data<T>(),
                                         dx.data<T>());
                   });
                   return {dx};
                 }},
                y);
}

Tensor log_softmax(const Tensor& x, int axis) {
  const AxisExtents extents = around_axis("log_softmax", x.shape(), axis);
  Tensor y = empty_like(x);
  on_device("log_softmax", x,
            [&]<typename T>(auto backend, TypeTag<T>) { log_softmax(backend, extents, x.data<T>(), y.data<T>()); });
  // y = x - log sum exp x:  dx = dy - exp(y) * sum(dy)
  return record({.name = "log_softmax",
                 .inputs = {x},
                 .saved = {y},
                 .backward = [extents](const BackwardCall& call) -> Gradients {
                   Tensor dx = empty_like(call.gradient());
                   on_device("log_softmax", dx, [&]<typename T>(auto backend, TypeTag<T>) {
                     log_softmax_backward<T>(backend, extents, call.saved(0).data<T>(), call.gradient().data<T>(),
                                             dx.data<T>());
                   });
                   return {dx};
                 }},
                y);
}

}  // namespace bough
