#pragma once

#include "kernels/backend.h"
#include "kernels/simt/edge_softmax.h"

/// See kernels/simt/edge_softmax.h; pointers are into the memory of the GPU. T: float, double.
namespace bough {

/// Softmax over the edges of each row, column by column. edge_ids may be null: position p then holds edge p.
template <typename T>
void edge_softmax(Cuda, const simt::RowItemView& rows, std::int64_t num_rows, const std::int32_t* edge_ids,
                  std::int64_t width, const simt::SoftmaxForward<T>& pass);

template <typename T>
void edge_softmax_backward(Cuda, const simt::RowItemView& rows, std::int64_t num_rows, const std::int32_t* edge_ids,
                           std::int64_t width, const simt::SoftmaxBackward<T>& pass);

}  // namespace bough
