#include "kernels/cuda/gspmm_prod_backward.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void prod_backward(Cuda gpu, const simt::ProdBackward<T>& product) {
  cuda::on_gpu("prod_backward", gpu, [&](auto& queue) { simt::prod_backward(queue, product); });
}
template void prod_backward(Cuda, const simt::ProdBackward<float>&);
template void prod_backward(Cuda, const simt::ProdBackward<double>&);

}  // namespace bough
