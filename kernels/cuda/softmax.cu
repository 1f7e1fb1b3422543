#include "kernels/cuda/queue.h"
#include "kernels/cuda/softmax.h"

namespace bough {

template <typename T>
void axis_softmax(Cuda gpu, const simt::AxisSoftmax<T>& lines) {
  cuda::on_gpu("softmax", gpu, [&](auto& queue) { simt::axis_softmax(queue, lines); });
}
template void axis_softmax(Cuda, const simt::AxisSoftmax<float>&);
template void axis_softmax(Cuda, const simt::AxisSoftmax<double>&);

template <typename T>
void axis_softmax_gradient(Cuda gpu, const simt::AxisSoftmaxGradient<T>& lines) {
  cuda::on_gpu("softmax_gradient", gpu, [&](auto& queue) { simt::axis_softmax_gradient(queue, lines); });
}
template void axis_softmax_gradient(Cuda, const simt::AxisSoftmaxGradient<float>&);
template void axis_softmax_gradient(Cuda, const simt::AxisSoftmaxGradient<double>&);

}  // namespace bough
