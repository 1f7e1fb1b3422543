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
void axis_softmax_backward(Cuda gpu, const simt::AxisSoftmaxBackward<T>& lines) {
  cuda::on_gpu("softmax_backward", gpu, [&](auto& queue) { simt::axis_softmax_backward(queue, lines); });
}
template void axis_softmax_backward(Cuda, const simt::AxisSoftmaxBackward<float>&);
template void axis_softmax_backward(Cuda, const simt::AxisSoftmaxBackward<double>&);

}  // namespace bough
