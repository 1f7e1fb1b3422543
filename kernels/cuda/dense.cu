#include "kernels/cuda/dense.h"
#include "kernels/cuda/products.h"
#include "kernels/cuda/queue.h"
#include "kernels/simt/dropout.h"

namespace bough {

template <typename T>
void unary(Cuda gpu, UnaryFunction function, UnaryParameters parameters, const T* x, T* y, std::int64_t count) {
  cuda::Queue queue(gpu.device);
  simt::unary(queue, function, parameters, x, y, count);
}

template <typename T>
void unary_gradient(Cuda gpu, UnaryFunction function, UnaryParameters parameters, const T* saved, const T* dy, T* dx,
                    std::int64_t count) {
  cuda::Queue queue(gpu.device);
  simt::unary_gradient(queue, function, parameters, saved, dy, dx, count);
}

template <typename T>
void binary(Cuda gpu, BinaryFunction function, const BroadcastPlan<2>& plan, const T* a, const T* b, T* result) {
  cuda::Queue queue(gpu.device);
  simt::binary(queue, scalar::Binary{function}, plan, a, b, result);
}

template <typename T>
void gemm(Cuda gpu, const simt::Gemm<T>& product) {
  cuda::Queue queue(gpu.device);
  if (cuda::cublas_gemm(gpu.device, queue.stream(), product, tf32_products())) {
    simt::finish_gemm(queue, product);
  } else {
    simt::gemm(queue, product);
  }
}

template <typename T>
void column_sums(Cuda gpu, std::int64_t rows, std::int64_t width, const T* x, T* sums) {
  cuda::Queue queue(gpu.device);
  simt::column_sums(queue, rows, width, x, sums);
}

template <typename T>
void dropout(Cuda gpu, std::span<const T> x, double p, RandomStream stream, T* y) {
  cuda::Queue queue(gpu.device);
  simt::dropout(queue, static_cast<std::int64_t>(x.size()), x.data(), p, stream, y);
}

template <typename T>
void layer_norm(Cuda gpu, const simt::LayerNorm<T>& rows) {
  cuda::Queue queue(gpu.device);
  simt::layer_norm(queue, rows);
}

template <typename T>
void layer_norm_backward(Cuda gpu, const simt::LayerNormInputGradient<T>& rows, T* dweight, T* dbias) {
  cuda::Queue queue(gpu.device);
  simt::layer_norm_backward(queue, rows, dweight, dbias);
}

template <typename T>
void cross_entropy(Cuda gpu, const simt::CrossEntropy<T>& rows, double* total) {
  cuda::Queue queue(gpu.device);
  simt::cross_entropy(queue, rows, total);
}

template <typename T>
void cross_entropy_backward(Cuda gpu, const simt::CrossEntropyGradient<T>& rows) {
  cuda::Queue queue(gpu.device);
  simt::cross_entropy_backward(queue, rows);
}

}  // namespace bough

#include "kernels/cuda/dense_instances.h"
