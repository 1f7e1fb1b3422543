#include "kernels/cuda/binary.h"
#include "kernels/cuda/queue.h"
#include "kernels/simt/binary.h"

namespace bough {

template <typename T>
void binary(Cuda gpu, BinaryFunction function, const BroadcastPlan<2>& plan, const T* a, const T* b, T* result) {
  cuda::on_gpu("binary", gpu, [&](auto& queue) { simt::binary(queue, scalar::Binary{function}, plan, a, b, result); });
}
template void binary(Cuda, BinaryFunction, const BroadcastPlan<2>&, const float*, const float*, float*);
template void binary(Cuda, BinaryFunction, const BroadcastPlan<2>&, const double*, const double*, double*);
template void binary(Cuda, BinaryFunction, const BroadcastPlan<2>&, const std::int32_t*, const std::int32_t*,
                     std::int32_t*);
template void binary(Cuda, BinaryFunction, const BroadcastPlan<2>&, const std::int64_t*, const std::int64_t*,
                     std::int64_t*);

}  // namespace bough
