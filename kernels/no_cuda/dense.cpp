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

}  // namespace bough

#include "kernels/cuda/dense_instances.h"
