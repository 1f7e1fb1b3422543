#include "kernels/cuda/gspmm.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void gspmm(Cuda gpu, const simt::RowItemView& rows, const simt::EdgeView& edges, const simt::MessageCall<T>& call,
           ReduceOp reduce, const simt::GspmmResults<T>& results) {
  cuda::on_gpu("gspmm", gpu, [&](auto& queue) { simt::gspmm(queue, rows, edges, call, reduce, results); });
}
template void gspmm(Cuda, const simt::RowItemView&, const simt::EdgeView&, const simt::MessageCall<float>&, ReduceOp,
                    const simt::GspmmResults<float>&);
template void gspmm(Cuda, const simt::RowItemView&, const simt::EdgeView&, const simt::MessageCall<double>&, ReduceOp,
                    const simt::GspmmResults<double>&);

}  // namespace bough
