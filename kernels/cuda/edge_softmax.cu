#include "kernels/cuda/edge_softmax.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void edge_softmax(Cuda gpu, const simt::RowItemView& rows, std::int64_t num_rows, const std::int32_t* edge_ids,
                  std::int64_t width, const simt::SoftmaxForward<T>& pass) {
  cuda::on_gpu("edge_softmax", gpu,
               [&](auto& queue) { simt::softmax_rows(queue, rows, num_rows, edge_ids, width, pass); });
}
template void edge_softmax(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                           const simt::SoftmaxForward<float>&);
template void edge_softmax(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                           const simt::SoftmaxForward<double>&);

template <typename T>
void edge_softmax_backward(Cuda gpu, const simt::RowItemView& rows, std::int64_t num_rows, const std::int32_t* edge_ids,
                           std::int64_t width, const simt::SoftmaxBackward<T>& pass) {
  cuda::on_gpu("edge_softmax_backward", gpu,
               [&](auto& queue) { simt::softmax_rows(queue, rows, num_rows, edge_ids, width, pass); });
}
template void edge_softmax_backward(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                                    const simt::SoftmaxBackward<float>&);
template void edge_softmax_backward(Cuda, const simt::RowItemView&, std::int64_t, const std::int32_t*, std::int64_t,
                                    const simt::SoftmaxBackward<double>&);

}  // namespace bough
