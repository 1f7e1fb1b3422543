#include "kernels/cuda/message_passing.h"

#include "kernels/no_cuda/no_cuda.h"

namespace bough {

template <typename T>
void gspmm(Cuda, const simt::RowItemView&, const simt::EdgeView&, const simt::MessageCall<T>&, ReduceOp,
           const simt::GspmmResults<T>&) {
  no_cuda("gspmm");
}
template <typename T>
void gsddmm(Cuda, const simt::EdgeEnds&, const simt::MessageCall<T>&, T*) {
  no_cuda("gsddmm");
}
template <typename T>
void edge_softmax(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                  const simt::SoftmaxForward<T>&) {
  no_cuda("edge_softmax");
}
template <typename T>
void edge_softmax_backward(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                           const simt::SoftmaxBackward<T>&) {
  no_cuda("edge_softmax_backward");
}
template <typename T>
void spread_segments(Cuda, const simt::SpreadSegments<T>&) {
  no_cuda("spread_segments");
}
template <typename T>
void product_gradient(Cuda, const simt::ProductGradient<T>&) {
  no_cuda("product_gradient");
}
template <typename Index>
void gather_rows(Cuda, const std::byte*, const Index*, std::byte*, std::int64_t, std::int64_t) {
  no_cuda("gather_rows");
}

}  // namespace bough

#include "kernels/cuda/message_passing_instances.h"
