#pragma once

#include "kernels/backend.h"
#include "kernels/simt/gsddmm.h"

namespace bough {

/// The message of every edge; pointers are into the memory of the GPU. T: float, double.
template <typename T>
void gsddmm(Cuda, const simt::EdgeEnds& edges, const simt::MessageCall<T>& call, T* results);

}  // namespace bough
