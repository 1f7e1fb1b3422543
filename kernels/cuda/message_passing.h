#pragma once

#include "kernels/backend.h"
#include "kernels/simt/edge_softmax.h"
#include "kernels/simt/gsddmm.h"
#include "kernels/simt/gspmm.h"
#include "kernels/simt/rows.h"

/// Message passing on a GPU; all views point into its memory. float and double. See kernels/simt for what the kernels
/// do.
namespace bough {

template <typename T>
void gspmm(Cuda, const simt::RowItemView& rows, const simt::EdgeView& edges, const simt::MessageCall<T>& call,
           ReduceOp reduce, const simt::GspmmResults<T>& results);

template <typename T>
void gsddmm(Cuda, const simt::EdgeEnds& edges, const simt::MessageCall<T>& call, T* results);

template <typename T>
void edge_softmax(Cuda, const simt::RowItemView& rows, std::int64_t num_rows, const std::int32_t* edge_ids,
                  std::int64_t width, const simt::SoftmaxForward<T>& pass);
template <typename T>
void edge_softmax_backward(Cuda, const simt::RowItemView& rows, std::int64_t num_rows, const std::int32_t* edge_ids,
                           std::int64_t width, const simt::SoftmaxBackward<T>& pass);

template <typename T>
void spread_segments(Cuda, const simt::SpreadSegments<T>& segments);
template <typename T>
void product_gradient(Cuda, const simt::ProductGradient<T>& product);

/// Rows of `width` bytes. Index: int32 and int64.
template <typename Index>
void gather_rows(Cuda, const std::byte* source, const Index* index, std::byte* target, std::int64_t rows,
                 std::int64_t width);

}  // namespace bough
