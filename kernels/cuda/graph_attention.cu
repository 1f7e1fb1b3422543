#include "kernels/attention/simt/rows_backward.h"
#include "kernels/cuda/graph_attention.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void attend_rows(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges, const AttentionInputs<T>& in,
                 const AttentionOutputs<T>& result) {
  cuda::Queue queue(gpu.device);
  simt::attend_rows(queue, rows, edges, in, result);
}

template <typename T>
void attention_delta(Cuda gpu, std::int64_t num_dst, const AttentionInputs<T>& in, HeadRows<const T> out,
                     HeadRows<const T> d_out, HeadRows<AccumType<T>> delta) {
  cuda::Queue queue(gpu.device);
  simt::attention_delta(queue, num_dst, in, out, d_out, delta);
}

template <typename T>
void attend_rows_backward_to_destinations(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges,
                                          const AttentionInputs<T>& in, const AttentionGradients<T>& gradients,
                                          std::int64_t num_edges) {
  cuda::Queue queue(gpu.device);
  simt::attend_backward_to_destinations(queue, rows, edges, in, gradients, num_edges);
}

template <typename T>
void attend_rows_backward_atomically(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges,
                                     const AttentionInputs<T>& in, const AttentionGradients<T>& gradients,
                                     std::int64_t num_edges) {
  cuda::Queue queue(gpu.device);
  simt::attend_backward_atomically(queue, rows, edges, in, gradients, num_edges);
}

template <typename T>
void attend_rows_backward_to_sources(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges,
                                     const AttentionInputs<T>& in, const AttentionGradients<T>& gradients) {
  cuda::Queue queue(gpu.device);
  simt::attend_backward_to_sources(queue, rows, edges, in, gradients);
}

}  // namespace bough

#include "kernels/cuda/graph_attention_instances.h"
