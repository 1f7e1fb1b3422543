#include "kernels/cuda/layer_norm.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void layer_norm(Cuda gpu, const simt::LayerNorm<T>& rows) {
  cuda::on_gpu("layer_norm", gpu, [&](auto& queue) { simt::layer_norm(queue, rows); });
}
template void layer_norm(Cuda, const simt::LayerNorm<float>&);
template void layer_norm(Cuda, const simt::LayerNorm<double>&);

template <typename T>
void layer_norm_backward(Cuda gpu, const simt::LayerNormInputBackward<T>& rows, T* dweight, T* dbias) {
  cuda::on_gpu("layer_norm_backward", gpu,
               [&](auto& queue) { simt::layer_norm_backward(queue, rows, dweight, dbias); });
}
template void layer_norm_backward(Cuda, const simt::LayerNormInputBackward<float>&, float*, float*);
template void layer_norm_backward(Cuda, const simt::LayerNormInputBackward<double>&, double*, double*);

}  // namespace bough
