#include "kernels/attention/cuda/tiles.h"
#include "kernels/attention/simt/tiles.h"
#include "kernels/attention/simt/tiles_backward.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void attend_tiles(Cuda gpu, const simt::TileView& tiles, const AttentionInputs<T>& in,
                  const AttentionOutputs<T>& result) {
  cuda::on_gpu("graph_attention", gpu, [&](auto& queue) { simt::attend_tiles(queue, tiles, in, result); });
}
template void attend_tiles(Cuda, const simt::TileView&, const AttentionInputs<float>&, const AttentionOutputs<float>&);
template void attend_tiles(Cuda, const simt::TileView&, const AttentionInputs<double>&,
                           const AttentionOutputs<double>&);
template void attend_tiles(Cuda, const simt::TileView&, const AttentionInputs<bfloat16>&,
                           const AttentionOutputs<bfloat16>&);

template <typename T>
void attend_tiles_backward(Cuda gpu, const simt::TileView& tiles, std::span<const simt::TileBatchView> batches,
                           const AttentionInputs<T>& in, const AttentionGradients<T>& gradients) {
  cuda::on_gpu("graph_attention", gpu,
               [&](auto& queue) { simt::attend_tiles_backward(queue, tiles, batches, in, gradients); });
}
template void attend_tiles_backward(Cuda, const simt::TileView&, std::span<const simt::TileBatchView>,
                                    const AttentionInputs<float>&, const AttentionGradients<float>&);
template void attend_tiles_backward(Cuda, const simt::TileView&, std::span<const simt::TileBatchView>,
                                    const AttentionInputs<double>&, const AttentionGradients<double>&);
template void attend_tiles_backward(Cuda, const simt::TileView&, std::span<const simt::TileBatchView>,
                                    const AttentionInputs<bfloat16>&, const AttentionGradients<bfloat16>&);

template <typename T>
void attend_tiles_backward_atomically(Cuda gpu, const simt::TileView& tiles, const AttentionInputs<T>& in,
                                      const AttentionGradients<T>& gradients) {
  cuda::on_gpu("graph_attention", gpu,
               [&](auto& queue) { simt::attend_tiles_backward_atomically(queue, tiles, in, gradients); });
}
template void attend_tiles_backward_atomically(Cuda, const simt::TileView&, const AttentionInputs<float>&,
                                               const AttentionGradients<float>&);
template void attend_tiles_backward_atomically(Cuda, const simt::TileView&, const AttentionInputs<double>&,
                                               const AttentionGradients<double>&);
template void attend_tiles_backward_atomically(Cuda, const simt::TileView&, const AttentionInputs<bfloat16>&,
                                               const AttentionGradients<bfloat16>&);

}  // namespace bough
