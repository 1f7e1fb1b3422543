#include "kernels/cuda/dense.h"

#include "kernels/no_cuda/no_cuda.h"

namespace bough {

template <typename T>
void unary(Cuda, UnaryFunction, UnaryParameters, const T*, T*, std::int64_t) {
  no_cuda("unary");
}
template <typename T>
void unary_gradient(Cuda, UnaryFunction, UnaryParameters, const T*, const T*, T*, std::int64_t) {
  no_cuda("unary_gradient");
}
template <typename T>
void binary(Cuda, BinaryFunction, const BroadcastPlan<2>&, const T*, const T*, T*) {
  no_cuda("binary");
}
template <typename T>
void gemm(Cuda, const simt::Gemm<T>&) {
  no_cuda("gemm");
}
template <typename T>
void column_sums(Cuda, std::int64_t, std::int64_t, const T*, T*) {
  no_cuda("column_sums");
}
template <typename T>
void dropout(Cuda, std::span<const T>, double, RandomStream, T*) {
  no_cuda("dropout");
}
template <typename T>
void layer_norm(Cuda, const simt::LayerNorm<T>&) {
  no_cuda("layer_norm");
}
template <typename T>
void layer_norm_backward(Cuda, const simt::LayerNormInputGradient<T>&, T*, T*) {
  no_cuda("layer_norm_backward");
}
template <typename T>
void cross_entropy(Cuda, const simt::CrossEntropy<T>&, double*) {
  no_cuda("cross_entropy");
}
template <typename T>
void cross_entropy_backward(Cuda, const simt::CrossEntropyGradient<T>&) {
  no_cuda("cross_entropy_backward");
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
