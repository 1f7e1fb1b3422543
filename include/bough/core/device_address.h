#pragma once

#include "bough/core/tensor.h"

namespace bough {

/// Where the elements of a tensor are in the memory of its device, row-major: for kernels of the user's own. On a GPU
/// the host cannot read there. Valid as long as the tensor lives; whoever writes calls mark_written().
void* device_address(const Tensor& tensor);

}  // namespace bough
