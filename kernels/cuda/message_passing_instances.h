// The types that kernels/cuda/message_passing.h promises. Ends the source that defines its functions, on a GPU or
// without one, so no #pragma once.
#include "kernels/cuda/message_passing.h"

namespace bough {

template void gspmm(Cuda, const simt::RowItemView&, const simt::EdgeView&, const simt::MessageCall<float>&, ReduceOp,
                    const simt::GspmmResults<float>&);
template void gsddmm(Cuda, const simt::EdgeEnds&, const simt::MessageCall<float>&, float*);
template void edge_softmax(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                           const simt::SoftmaxForward<float>&);
template void edge_softmax_backward(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                                    const simt::SoftmaxBackward<float>&);
template void spread_segments(Cuda, const simt::SpreadSegments<float>&);
template void product_gradient(Cuda, const simt::ProductGradient<float>&);
template void gspmm(Cuda, const simt::RowItemView&, const simt::EdgeView&, const simt::MessageCall<double>&, ReduceOp,
                    const simt::GspmmResults<double>&);
template void gsddmm(Cuda, const simt::EdgeEnds&, const simt::MessageCall<double>&, double*);
template void edge_softmax(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                           const simt::SoftmaxForward<double>&);
template void edge_softmax_backward(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                                    const simt::SoftmaxBackward<double>&);
template void spread_segments(Cuda, const simt::SpreadSegments<double>&);
template void product_gradient(Cuda, const simt::ProductGradient<double>&);
template void gather_rows(Cuda, const std::byte*, const std::int32_t*, std::byte*, std::int64_t, std::int64_t);
template void gather_rows(Cuda, const std::byte*, const std::int64_t*, std::byte*, std::int64_t, std::int64_t);

}  // namespace bough
