#include "kernels/cuda/graph_attention.h"

#include "kernels/no_cuda/no_cuda.h"

namespace bough {

template <typename T>
void attend_rows(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<T>&,
                 const AttentionOutputs<T>&) {
  no_cuda("graph_attention");
}
template <typename T>
void attention_delta(Cuda, std::int64_t, const AttentionInputs<T>&, HeadRows<const T>, HeadRows<const T>,
                     HeadRows<AccumType<T>>) {
  no_cuda("graph_attention");
}
template <typename T>
void attend_rows_backward_to_destinations(Cuda, const simt::RowItemView&, const simt::EdgeView&,
                                          const AttentionInputs<T>&, const AttentionGradients<T>&, std::int64_t) {
  no_cuda("graph_attention");
}
template <typename T>
void attend_rows_backward_atomically(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<T>&,
                                     const AttentionGradients<T>&, std::int64_t) {
  no_cuda("graph_attention");
}
template <typename T>
void attend_rows_backward_to_sources(Cuda, const simt::RowItemView&, const simt::EdgeView&, const AttentionInputs<T>&,
                                     const AttentionGradients<T>&) {
  no_cuda("graph_attention");
}

}  // namespace bough

#include "kernels/cuda/graph_attention_instances.h"
