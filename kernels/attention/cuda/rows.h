#pragma once

#include "bough/detail/simt/row_items.h"
#include "kernels/attention/views.h"
#include "kernels/backend.h"

/// Graph attention on a GPU; all views point into its memory. See kernels/simt for what the kernels do.
namespace bough {

/// Writes all rows. The edges are grouped by destination. float, double and bfloat16, as below.
template <typename T>
void attend_rows(Cuda, const simt::RowItemView& rows, const simt::EdgeView& edges, const AttentionInputs<T>& in,
                 const AttentionOutputs<T>& result);

/// delta[i] = sum of out[i] * d_out[i] for each destination and head.
template <typename T>
void attention_delta(Cuda, std::int64_t num_dst, const AttentionInputs<T>& in, HeadRows<const T> out,
                     HeadRows<const T> d_out, HeadRows<AccumType<T>> delta);

/// Gradients of q and edge tensors, which are written, and of tables, which are added to.
template <typename T>
void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView& rows, const simt::EdgeView& edges,
                                          const AttentionInputs<T>& in, const AttentionGradients<T>& gradients,
                                          std::int64_t num_edges);

/// The same, and gradients of k and v, which are added to. Sums of several rows are atomic, in no known order.
template <typename T>
void attend_rows_backward_atomically(Cuda, const simt::RowItemView& rows, const simt::EdgeView& edges,
                                     const AttentionInputs<T>& in, const AttentionGradients<T>& gradients,
                                     std::int64_t num_edges);

/// Gradients of k and v, which are written. The edges are grouped by source.
template <typename T>
void attend_rows_backward_to_sources(Cuda, const simt::RowItemView& rows, const simt::EdgeView& edges,
                                     const AttentionInputs<T>& in, const AttentionGradients<T>& gradients);

}  // namespace bough
