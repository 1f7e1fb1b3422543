#include "kernels/cuda/dropout.h"
#include "kernels/cuda/queue.h"
#include "kernels/simt/dropout.h"

namespace bough {

template <typename T>
void dropout(Cuda gpu, std::span<const T> x, double p, RandomStream stream, T* y) {
  cuda::on_gpu("dropout", gpu,
               [&](auto& queue) { simt::dropout(queue, static_cast<std::int64_t>(x.size()), x.data(), p, stream, y); });
}
template void dropout(Cuda, std::span<const float>, double, RandomStream, float*);
template void dropout(Cuda, std::span<const double>, double, RandomStream, double*);

}  // namespace bough
