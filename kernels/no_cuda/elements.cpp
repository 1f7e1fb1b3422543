#include "kernels/cuda/elements.h"

#include "kernels/no_cuda/no_cuda.h"

namespace bough {

void strided_copy(Cuda, const StridedMove&, std::size_t, const void*, void*) { no_cuda("strided_copy"); }
void select(Cuda, const BroadcastPlan<3>&, std::size_t, const bool*, const void*, const void*, void*) {
  no_cuda("select");
}
void put_rows(Cuda, const std::int32_t*, std::int64_t, std::int64_t, std::size_t, const void*, void*) {
  no_cuda("put_rows");
}
void cast(Cuda, DType, const void*, DType, void*, std::int64_t) { no_cuda("cast"); }
void compare(Cuda, Comparison, const BroadcastPlan<2>&, DType, const void*, const void*, bool*) { no_cuda("compare"); }

template <typename T>
void reduce(Cuda, BinaryFunction, const simt::ReduceExtents&, const T*, T*) {
  no_cuda("reduce");
}
template <typename T>
void arg_reduce(Cuda, const simt::ArgReduce<T>&) {
  no_cuda("arg_reduce");
}
template <typename T>
void arg_reduce_gradient(Cuda, const simt::ArgReduceGradient<T>&) {
  no_cuda("arg_reduce_gradient");
}
template <typename T>
void axis_softmax(Cuda, const simt::AxisSoftmax<T>&) {
  no_cuda("softmax");
}
template <typename T>
void axis_softmax_gradient(Cuda, const simt::AxisSoftmaxGradient<T>&) {
  no_cuda("softmax_gradient");
}

}  // namespace bough

#include "kernels/cuda/elements_instances.h"
