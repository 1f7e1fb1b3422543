#include "bough/ops/softmax.h"

#include "bough/autograd/autograd.h"
#include "kernels/cpu/softmax.h"
#include "kernels/cuda/softmax.h"
#include "kernels/device_data.h"
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

// The GPU's, with the arguments of the CPU's.

template <typename T>
simt::AxisSoftmax<T> lines_of(const AxisExtents& extents, bool logarithm, const T* x, T* y) {
  return {{{extents.outer, extents.length, extents.inner}}, logarithm, x, y};
}
template <typename T>
simt::AxisSoftmaxBackward<T> lines_of(const AxisExtents& extents, bool logarithm, const T* y, const T* dy, T* dx) {
  return {{{extents.outer, extents.length, extents.inner}}, logarithm, y, dy, dx};
}

template <typename T>
void softmax(Cuda gpu, const AxisExtents& extents, const T* x, T* y) {
  axis_softmax(gpu, lines_of(extents, false, x, y));
}
template <typename T>
void softmax_backward(Cuda gpu, const AxisExtents& extents, const T* y, const T* dy, T* dx) {
  axis_softmax_backward(gpu, lines_of(extents, false, y, dy, dx));
}
template <typename T>
void log_softmax(Cuda gpu, const AxisExtents& extents, const T* x, T* y) {
  axis_softmax(gpu, lines_of(extents, true, x, y));
}
template <typename T>
void log_softmax_backward(Cuda gpu, const AxisExtents& extents, const T* y, const T* dy, T* dx) {
  axis_softmax_backward(gpu, lines_of(extents, true, y, dy, dx));
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  const AxisExtents extents = around_axis("softmax", x.shape(), axis);
  Tensor y = empty_like(x);
  on_any_device("softmax", x, [&]<typename T>(auto backend, TypeTag<T>) {
    softmax(backend, extents, device_data<T>(x), device_data<T>(y));
  });
  // y = softmax(x):  dx = y * (dy - sum(y * dy))
  return autograd::record({.name = "softmax",
                           .inputs = {x},
                           .saved = {y},
                           .backward = [extents](const BackwardCall& call) -> Gradients {
                             Tensor dx = empty_like(call.gradient());
                             on_any_device("softmax", dx, [&]<typename T>(auto backend, TypeTag<T>) {
                               softmax_backward(backend, extents, device_data<T>(call.saved(0)),
                                                device_data<T>(call.gradient()), device_data<T>(dx));
                             });
                             return {dx};
                           }},
                          y);
}

Tensor log_softmax(const Tensor& x, int axis) {
  const AxisExtents extents = around_axis("log_softmax", x.shape(), axis);
  Tensor y = empty_like(x);
  on_any_device("log_softmax", x, [&]<typename T>(auto backend, TypeTag<T>) {
    log_softmax(backend, extents, device_data<T>(x), device_data<T>(y));
  });
  // y = x - log sum exp x:  dx = dy - exp(y) * sum(dy)
  return autograd::record({.name = "log_softmax",
                           .inputs = {x},
                           .saved = {y},
                           .backward = [extents](const BackwardCall& call) -> Gradients {
                             Tensor dx = empty_like(call.gradient());
                             on_any_device("log_softmax", dx, [&]<typename T>(auto backend, TypeTag<T>) {
                               log_softmax_backward(backend, extents, device_data<T>(call.saved(0)),
                                                    device_data<T>(call.gradient()), device_data<T>(dx));
                             });
                             return {dx};
                           }},
                          y);
}

}  // namespace bough
