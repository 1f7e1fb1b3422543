#include "kernels/cuda/binary.h"
#include "kernels/cuda/queue.h"
#include "kernels/simt/binary.h"

namespace bough {

template <typename T>
void binary(Cuda gpu, BinaryFunction function, const BroadcastLayout<2>& layout, const T* a, const T* b, T* result) {
  cuda::on_gpu("binary", gpu,
               [&](auto& queue) { simt::binary(queue, scalar::Binary{function}, layout, a, b, result); });
}
template void binary(Cuda, BinaryFunction, const BroadcastLayout<2>&, const float*, const float*, float*);
template void binary(Cuda, BinaryFunction, const BroadcastLayout<2>&, const double*, const double*, double*);
template void binary(Cuda, BinaryFunction, const BroadcastLayout<2>&, const std::int32_t*, const std::int32_t*,
                     std::int32_t*);
template void binary(Cuda, BinaryFunction, const BroadcastLayout<2>&, const std::int64_t*, const std::int64_t*,
                     std::int64_t*);

}  // namespace bough
