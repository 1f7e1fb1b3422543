#include "kernels/cuda/cublas_gemm.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void gemm(Cuda gpu, const simt::Gemm<T>& product) {
  cuda::on_gpu("gemm", gpu, [&](auto& queue) {
    if (cuda::cublas_gemm(gpu.device, queue.stream(), product, tf32_products())) {
      simt::finish_gemm(queue, product);
    } else {
      simt::gemm(queue, product);
    }
  });
}
template void gemm(Cuda, const simt::Gemm<float>&);
template void gemm(Cuda, const simt::Gemm<double>&);

}  // namespace bough
