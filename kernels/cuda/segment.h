#pragma once

#include "kernels/backend.h"
#include "kernels/simt/segment.h"

namespace bough {

/// What each row of a segment gets back from the segment's gradient; pointers are into the memory of the GPU. T: float,
/// double.
template <typename T>
void segment_reduce_backward(Cuda, const simt::SegmentReduceBackward<T>& segments);

}  // namespace bough
