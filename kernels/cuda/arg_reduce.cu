#include "kernels/cuda/arg_reduce.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void arg_reduce(Cuda gpu, const simt::ArgReduce<T>& lines) {
  cuda::on_gpu("arg_reduce", gpu, [&](auto& queue) { simt::arg_reduce(queue, lines); });
}
template void arg_reduce(Cuda, const simt::ArgReduce<float>&);
template void arg_reduce(Cuda, const simt::ArgReduce<double>&);
template void arg_reduce(Cuda, const simt::ArgReduce<std::int32_t>&);
template void arg_reduce(Cuda, const simt::ArgReduce<std::int64_t>&);

template <typename T>
void arg_reduce_backward(Cuda gpu, const simt::ArgReduceBackward<T>& lines) {
  cuda::on_gpu("arg_reduce_backward", gpu, [&](auto& queue) { simt::arg_reduce_backward(queue, lines); });
}
template void arg_reduce_backward(Cuda, const simt::ArgReduceBackward<float>&);
template void arg_reduce_backward(Cuda, const simt::ArgReduceBackward<double>&);

}  // namespace bough
