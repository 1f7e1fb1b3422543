#pragma once

#include "kernels/backend.h"
#include "kernels/simt/gspmm_prod_backward.h"

namespace bough {

/// The gradient of a product of messages by row; pointers are into the memory of the GPU. T: float, double.
template <typename T>
void prod_backward(Cuda, const simt::ProdBackward<T>& product);

}  // namespace bough
