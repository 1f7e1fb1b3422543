#pragma once

#include "kernels/backend.h"
#include "kernels/simt/gspmm_product_gradient.h"

namespace bough {

/// The gradient of a product of messages by row; pointers are into the memory of the GPU. T: float, double.
template <typename T>
void product_gradient(Cuda, const simt::ProductGradient<T>& product);

}  // namespace bough
