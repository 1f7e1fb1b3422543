#pragma once

#include "kernels/backend.h"
#include "kernels/simt/gspmm.h"

namespace bough {

/// Messages reduced by row; pointers are into the memory of the GPU. T: float, double.
template <typename T>
void gspmm(Cuda, const simt::RowItemView& rows, const simt::EdgeView& edges, const simt::MessageCall<T>& call,
           ReduceOp reduce, const simt::GspmmResults<T>& results);

}  // namespace bough
