#pragma once

#include "kernels/backend.h"
#include "kernels/simt/layer_norm.h"

/// See kernels/simt/layer_norm.h; pointers are into the memory of the GPU. T: float, double.
namespace bough {

template <typename T>
void layer_norm(Cuda, const simt::LayerNorm<T>& rows);

/// rows.dx, dweight and dbias may be null for not wanted, the last two together.
template <typename T>
void layer_norm_backward(Cuda, const simt::LayerNormInputBackward<T>& rows, T* dweight, T* dbias);

}  // namespace bough
