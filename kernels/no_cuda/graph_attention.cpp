#include "kernels/cuda/graph_attention.h"

#include "kernels/no_cuda/no_cuda.h"

namespace bough {

template <typename T>
void attend_rows(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<T>&,
                 const AttentionOutputs<T>&) {
  no_cuda("graph_attention");
}
template <typename T>
void attention_delta(Cuda, std::int64_t, const AttentionInputs<T>&, HeadRows<const T>, HeadRows<const T>, HeadRows<T>) {
  no_cuda("graph_attention");
}
template <typename T>
void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                          const AttentionInputs<T>&, const AttentionGradients<T>&, std::int64_t) {
  no_cuda("graph_attention");
}
template <typename T>
void attend_rows_backward_to_sources(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<T>&,
                                     const AttentionGradients<T>&) {
  no_cuda("graph_attention");
}

template void attend_rows(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<float>&,
                          const AttentionOutputs<float>&);
template void attention_delta(Cuda, std::int64_t, const AttentionInputs<float>&, HeadRows<const float>,
                              HeadRows<const float>, HeadRows<float>);
template void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                                   const AttentionInputs<float>&, const AttentionGradients<float>&,
                                                   std::int64_t);
template void attend_rows_backward_to_sources(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<float>&, const AttentionGradients<float>&);
template void attend_rows(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<double>&,
                          const AttentionOutputs<double>&);
template void attention_delta(Cuda, std::int64_t, const AttentionInputs<double>&, HeadRows<const double>,
                              HeadRows<const double>, HeadRows<double>);
template void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                                   const AttentionInputs<double>&, const AttentionGradients<double>&,
                                                   std::int64_t);
template void attend_rows_backward_to_sources(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<double>&, const AttentionGradients<double>&);

}  // namespace bough
