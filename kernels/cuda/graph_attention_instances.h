// The types that kernels/cuda/graph_attention.h promises. Ends the source that defines its functions, on a GPU or
// without one, so no #pragma once.
#include "kernels/cuda/graph_attention.h"

namespace bough {

template void attend_rows(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<float>&,
                          const AttentionOutputs<float>&);
template void attention_delta(Cuda, std::int64_t, const AttentionInputs<float>&, HeadRows<const float>,
                              HeadRows<const float>, HeadRows<float>);
template void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                                   const AttentionInputs<float>&, const AttentionGradients<float>&,
                                                   std::int64_t);
template void attend_rows_backward_atomically(Cuda, const simt::RowItemView&, const simt::EdgeView&,
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
template void attend_rows_backward_atomically(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<double>&, const AttentionGradients<double>&,
                                              std::int64_t);
template void attend_rows_backward_to_sources(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<double>&, const AttentionGradients<double>&);
template void attend_rows(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<bfloat16>&,
                          const AttentionOutputs<bfloat16>&);
template void attention_delta(Cuda, std::int64_t, const AttentionInputs<bfloat16>&, HeadRows<const bfloat16>,
                              HeadRows<const bfloat16>, HeadRows<float>);
template void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                                   const AttentionInputs<bfloat16>&,
                                                   const AttentionGradients<bfloat16>&, std::int64_t);
template void attend_rows_backward_atomically(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<bfloat16>&, const AttentionGradients<bfloat16>&,
                                              std::int64_t);
template void attend_rows_backward_to_sources(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                              const AttentionInputs<bfloat16>&, const AttentionGradients<bfloat16>&);

}  // namespace bough
