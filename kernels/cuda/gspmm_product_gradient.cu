#include "kernels/cuda/gspmm_product_gradient.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void product_gradient(Cuda gpu, const simt::ProductGradient<T>& product) {
  cuda::on_gpu("product_gradient", gpu, [&](auto& queue) { simt::product_gradient(queue, product); });
}
template void product_gradient(Cuda, const simt::ProductGradient<float>&);
template void product_gradient(Cuda, const simt::ProductGradient<double>&);

}  // namespace bough
