#pragma once

#include "kernels/backend.h"
#include "kernels/simt/cross_entropy.h"

/// See kernels/simt/cross_entropy.h; pointers are into the memory of the GPU. T: float, double.
namespace bough {

/// `total`, on the GPU too, gets the sum of the losses.
template <typename T>
void cross_entropy(Cuda, const simt::CrossEntropy<T>& rows, double* total);

template <typename T>
void cross_entropy_backward(Cuda, const simt::CrossEntropyBackward<T>& rows);

}  // namespace bough
