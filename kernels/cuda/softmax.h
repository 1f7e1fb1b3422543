#pragma once

#include "kernels/backend.h"
#include "kernels/simt/softmax.h"

/// See kernels/simt/softmax.h; pointers are into the memory of the GPU. T: float, double.
namespace bough {

template <typename T>
void axis_softmax(Cuda, const simt::AxisSoftmax<T>& lines);

template <typename T>
void axis_softmax_backward(Cuda, const simt::AxisSoftmaxBackward<T>& lines);

}  // namespace bough
