#include "kernels/cuda/queue.h"
#include "kernels/cuda/segment.h"

namespace bough {

template <typename T>
void segment_reduce_backward(Cuda gpu, const simt::SegmentReduceBackward<T>& segments) {
  cuda::on_gpu("segment_reduce_backward", gpu, [&](auto& queue) { simt::segment_reduce_backward(queue, segments); });
}
template void segment_reduce_backward(Cuda, const simt::SegmentReduceBackward<float>&);
template void segment_reduce_backward(Cuda, const simt::SegmentReduceBackward<double>&);

}  // namespace bough
