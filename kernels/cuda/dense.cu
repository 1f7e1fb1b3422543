#include "kernels/cuda/dense.h"
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
  simt::gemm(queue, product);
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

template void unary(Cuda, UnaryFunction, UnaryParameters, const float*, float*, std::int64_t);
template void unary_gradient(Cuda, UnaryFunction, UnaryParameters, const float*, const float*, float*, std::int64_t);
template void binary(Cuda, BinaryFunction, const BroadcastPlan<2>&, const float*, const float*, float*);
template void gemm(Cuda, const simt::Gemm<float>&);
template void column_sums(Cuda, std::int64_t, std::int64_t, const float*, float*);
template void dropout(Cuda, std::span<const float>, double, RandomStream, float*);
template void layer_norm(Cuda, const simt::LayerNorm<float>&);
template void layer_norm_backward(Cuda, const simt::LayerNormInputGradient<float>&, float*, float*);
template void cross_entropy(Cuda, const simt::CrossEntropy<float>&, double*);
template void cross_entropy_backward(Cuda, const simt::CrossEntropyGradient<float>&);
template void unary(Cuda, UnaryFunction, UnaryParameters, const double*, double*, std::int64_t);
template void unary_gradient(Cuda, UnaryFunction, UnaryParameters, const double*, const double*, double*, std::int64_t);
template void binary(Cuda, BinaryFunction, const BroadcastPlan<2>&, const double*, const double*, double*);
template void gemm(Cuda, const simt::Gemm<double>&);
template void column_sums(Cuda, std::int64_t, std::int64_t, const double*, double*);
template void dropout(Cuda, std::span<const double>, double, RandomStream, double*);
template void layer_norm(Cuda, const simt::LayerNorm<double>&);
template void layer_norm_backward(Cuda, const simt::LayerNormInputGradient<double>&, double*, double*);
template void cross_entropy(Cuda, const simt::CrossEntropy<double>&, double*);
template void cross_entropy_backward(Cuda, const simt::CrossEntropyGradient<double>&);

}  // namespace bough
