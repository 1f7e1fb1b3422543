#include "kernels/attention/cuda/rows.h"
#include "kernels/attention/simt/rows_backward.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void attend_rows(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges, const AttentionInputs<T>& in,
                 const AttentionOutputs<T>& result) {
  cuda::on_gpu("graph_attention", gpu, [&](auto& queue) { simt::attend_rows(queue, rows, edges, in, result); });
}
template void attend_rows(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<float>&,
                          const AttentionOutputs<float>&);
template void attend_rows(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<double>&,
                          const AttentionOutputs<double>&);
template void attend_rows(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<bfloat16>&,
                          const AttentionOutputs<bfloat16>&);

template <typename T>
void attention_delta(Cuda gpu, std::int64_t num_dst, const AttentionInputs<T>& in, HeadRows<const T> out,
                     HeadRows<const T> d_out, HeadRows<AccumType<T>> delta) {
  cuda::on_gpu("graph_attention", gpu,
               [&](auto& queue) { simt::attention_delta(queue, num_dst, in, out, d_out, delta); });
}
template void attention_delta(Cuda, std::int64_t, const AttentionInputs<float>&, HeadRows<const float>,
                              HeadRows<const float>, HeadRows<float>);
template void attention_delta(Cuda, std::int64_t, const AttentionInputs<double>&, HeadRows<const double>,
                              HeadRows<const double>, HeadRows<double>);
template void attention_delta(Cuda, std::int64_t, const AttentionInputs<bfloat16>&, HeadRows<const bfloat16>,
                              HeadRows<const bfloat16>, HeadRows<float>);

template <typename T>
void attend_rows_backward_to_destinations(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges,
                                          const AttentionInputs<T>& in, const AttentionGradients<T>& gradients,
                                          std::int64_t num_edges) {
  cuda::on_gpu("graph_attention", gpu, [&](auto& queue) {
    simt::attend_backward_to_destinations(queue, rows, edges, in, gradients, num_edges);
  });
}
template void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                                   const AttentionInputs<float>&, const AttentionGradients<float>&,
                                                   std::int64_t);
template void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                                   const AttentionInputs<double>&, const AttentionGradients<double>&,
                                                   std::int64_t);
template void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                                   const AttentionInputs<bfloat16>&,
                                                   const AttentionGradients<bfloat16>&, std::int64_t);

template <typename T>
void attend_rows_backward_atomically(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges,
                                     const AttentionInputs<T>& in, const AttentionGradients<T>& gradients,
                                     std::int64_t num_edges) {
  cuda::on_gpu("graph_attention", gpu,
               [&](auto& queue) { simt::attend_backward_atomically(queue, rows, edges, in, gradients, num_edges); });
}
template void attend_rows_backward_atomically(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<float>&, const AttentionGradients<float>&,
                                              std::int64_t);
template void attend_rows_backward_atomically(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<double>&, const AttentionGradients<double>&,
                                              std::int64_t);
template void attend_rows_backward_atomically(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<bfloat16>&, const AttentionGradients<bfloat16>&,
                                              std::int64_t);

template <typename T>
void attend_rows_backward_to_sources(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges,
                                     const AttentionInputs<T>& in, const AttentionGradients<T>& gradients) {
  cuda::on_gpu("graph_attention", gpu,
               [&](auto& queue) { simt::attend_backward_to_sources(queue, rows, edges, in, gradients); });
}
template void attend_rows_backward_to_sources(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<float>&, const AttentionGradients<float>&);
template void attend_rows_backward_to_sources(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<double>&, const AttentionGradients<double>&);
template void attend_rows_backward_to_sources(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<bfloat16>&, const AttentionGradients<bfloat16>&);

}  // namespace bough
