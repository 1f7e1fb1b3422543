#include "kernels/cuda/cross_entropy.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void cross_entropy(Cuda gpu, const simt::CrossEntropy<T>& rows, double* total) {
  cuda::on_gpu("cross_entropy", gpu, [&](auto& queue) { simt::cross_entropy(queue, rows, total); });
}
template void cross_entropy(Cuda, const simt::CrossEntropy<float>&, double*);
template void cross_entropy(Cuda, const simt::CrossEntropy<double>&, double*);

template <typename T>
void cross_entropy_backward(Cuda gpu, const simt::CrossEntropyBackward<T>& rows) {
  cuda::on_gpu("cross_entropy_backward", gpu, [&](auto& queue) { simt::cross_entropy_backward(queue, rows); });
}
template void cross_entropy_backward(Cuda, const simt::CrossEntropyBackward<float>&);
template void cross_entropy_backward(Cuda, const simt::CrossEntropyBackward<double>&);

}  // namespace bough
