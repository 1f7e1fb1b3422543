#include "kernels/cuda/queue.h"
#include "kernels/cuda/segment.h"

namespace bough {

template <typename T>
void spread_segments(Cuda gpu, const simt::SpreadSegments<T>& segments) {
  cuda::on_gpu("spread_segments", gpu, [&](auto& queue) { simt::spread_segments(queue, segments); });
}
template void spread_segments(Cuda, const simt::SpreadSegments<float>&);
template void spread_segments(Cuda, const simt::SpreadSegments<double>&);

}  // namespace bough
