#include "kernels/cuda/message_passing.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void gspmm(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges, const simt::MessageCall<T>& call,
           ReduceOp reduce, const simt::GspmmResults<T>& results) {
  cuda::Queue queue(gpu.device);
  simt::gspmm(queue, rows, edges, call, reduce, results);
}

template <typename T>
void gsddmm(Cuda gpu, const simt::EdgeEnds& edges, const simt::MessageCall<T>& call, T* results) {
  cuda::Queue queue(gpu.device);
  simt::gsddmm(queue, edges, call, results);
}

template <typename T>
void edge_softmax(Cuda gpu, const simt::RowItemView& rows, std::int64_t num_rows, const std::int32_t* edge_ids,
                  std::int64_t width, const simt::SoftmaxForward<T>& pass) {
  cuda::Queue queue(gpu.device);
  simt::softmax_rows(queue, rows, num_rows, edge_ids, width, pass);
}

template <typename T>
void edge_softmax_backward(Cuda gpu, const simt::RowItemView& rows, std::int64_t num_rows, const std::int32_t* edge_ids,
                           std::int64_t width, const simt::SoftmaxBackward<T>& pass) {
  cuda::Queue queue(gpu.device);
  simt::softmax_rows(queue, rows, num_rows, edge_ids, width, pass);
}

template <typename T>
void spread_segments(Cuda gpu, const simt::SpreadSegments<T>& segments) {
  cuda::Queue queue(gpu.device);
  simt::spread_segments(queue, segments);
}

template <typename T>
void product_gradient(Cuda gpu, const simt::ProductGradient<T>& product) {
  cuda::Queue queue(gpu.device);
  simt::product_gradient(queue, product);
}

template <typename Index>
void gather_rows(Cuda gpu, const std::byte* source, const Index* index, std::byte* target, std::int64_t rows,
                 std::int64_t width) {
  cuda::Queue queue(gpu.device);
  simt::gather_rows(queue, source, index, target, rows, width);
}

}  // namespace bough

#include "kernels/cuda/message_passing_instances.h"
