// The types that kernels/cuda/dense.h promises. Ends the source that defines its functions, on a GPU or without
// one, so no #pragma once.
#include "kernels/cuda/dense.h"

namespace bough {

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
template void binary(Cuda, BinaryFunction, const BroadcastPlan<2>&, const std::int32_t*, const std::int32_t*,
                     std::int32_t*);
template void binary(Cuda, BinaryFunction, const BroadcastPlan<2>&, const std::int64_t*, const std::int64_t*,
                     std::int64_t*);

}  // namespace bough
