#include "kernels/cuda/queue.h"
#include "kernels/cuda/reduce.h"

namespace bough {

template <typename T>
void reduce(Cuda gpu, BinaryFunction function, const simt::ReduceExtents& extents, const T* x, T* result) {
  using Partial = std::conditional_t<std::is_same_v<T, float>, double, T>;
  cuda::on_gpu("reduce", gpu, [&](auto& queue) { simt::reduce<Partial>(queue, function, extents, x, result); });
}
template void reduce(Cuda, BinaryFunction, const simt::ReduceExtents&, const float*, float*);
template void reduce(Cuda, BinaryFunction, const simt::ReduceExtents&, const double*, double*);
template void reduce(Cuda, BinaryFunction, const simt::ReduceExtents&, const std::int32_t*, std::int32_t*);
template void reduce(Cuda, BinaryFunction, const simt::ReduceExtents&, const std::int64_t*, std::int64_t*);

}  // namespace bough
