#include "kernels/attention/simt/tiles.h"
#include "kernels/attention/simt/tiles_backward.h"
#include "kernels/cuda/graph_attention_tiles.h"
#include "kernels/cuda/queue.h"

namespace bough {

template <typename T>
void attend_tiles(Cuda gpu, const simt::TileView& tiles, const AttentionInputs<T>& in,
                  const AttentionOutputs<T>& result) {
  cuda::Queue queue(gpu.device);
  simt::attend_tiles(queue, tiles, in, result);
}

template <typename T>
void attend_tiles_backward(Cuda gpu, const simt::TileView& tiles, std::span<const simt::TileBatchView> batches,
                           const AttentionInputs<T>& in, const AttentionGradients<T>& gradients) {
  cuda::Queue queue(gpu.device);
  simt::attend_tiles_backward(queue, tiles, batches, in, gradients);
}

template <typename T>
void attend_tiles_backward_atomically(Cuda gpu, const simt::TileView& tiles, const AttentionInputs<T>& in,
                                      const AttentionGradients<T>& gradients) {
  cuda::Queue queue(gpu.device);
  simt::attend_tiles_backward_atomically(queue, tiles, in, gradients);
}

}  // namespace bough

#include "kernels/cuda/graph_attention_tiles_instances.h"
