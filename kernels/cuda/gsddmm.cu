#include "kernels/cuda/gsddmm.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void gsddmm(Cuda gpu, const simt::EdgeEnds& edges, const simt::MessageCall<T>& call, T* results) {
  cuda::on_gpu("gsddmm", gpu, [&](auto& queue) { simt::gsddmm(queue, edges, call, results); });
}
template void gsddmm(Cuda, const simt::EdgeEnds&, const simt::MessageCall<float>&, float*);
template void gsddmm(Cuda, const simt::EdgeEnds&, const simt::MessageCall<double>&, double*);

}  // namespace bough
