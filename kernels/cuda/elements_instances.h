// The types that kernels/cuda/elements.h promises. Ends the source that defines its functions, on a GPU or without
// one, so no #pragma once.
#include "kernels/cuda/elements.h"

namespace bough {

template void reduce(Cuda, BinaryFunction, const simt::ReduceExtents&, const float*, float*);
template void reduce(Cuda, BinaryFunction, const simt::ReduceExtents&, const double*, double*);
template void reduce(Cuda, BinaryFunction, const simt::ReduceExtents&, const std::int32_t*, std::int32_t*);
template void reduce(Cuda, BinaryFunction, const simt::ReduceExtents&, const std::int64_t*, std::int64_t*);
template void arg_reduce(Cuda, const simt::ArgReduce<float>&);
template void arg_reduce(Cuda, const simt::ArgReduce<double>&);
template void arg_reduce(Cuda, const simt::ArgReduce<std::int32_t>&);
template void arg_reduce(Cuda, const simt::ArgReduce<std::int64_t>&);
template void arg_reduce_gradient(Cuda, const simt::ArgReduceGradient<float>&);
template void arg_reduce_gradient(Cuda, const simt::ArgReduceGradient<double>&);
template void axis_softmax(Cuda, const simt::AxisSoftmax<float>&);
template void axis_softmax(Cuda, const simt::AxisSoftmax<double>&);
template void axis_softmax_gradient(Cuda, const simt::AxisSoftmaxGradient<float>&);
template void axis_softmax_gradient(Cuda, const simt::AxisSoftmaxGradient<double>&);

}  // namespace bough
