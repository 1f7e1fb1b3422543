#include "kernels/cuda/graph_attention_tiles.h"

#include "kernels/no_cuda/no_cuda.h"

namespace bough {

template <typename T>
void attend_tiles(Cuda, const simt::TileView&, const AttentionInputs<T>&, const AttentionOutputs<T>&) {
  no_cuda("graph_attention");
}
template <typename T>
void attend_tiles_backward(Cuda, const simt::TileView&, std::span<const simt::TileBatchView>, const AttentionInputs<T>&,
                           const AttentionGradients<T>&) {
  no_cuda("graph_attention");
}
template <typename T>
void attend_tiles_backward_atomically(Cuda, const simt::TileView&, const AttentionInputs<T>&,
                                      const AttentionGradients<T>&) {
  no_cuda("graph_attention");
}

}  // namespace bough

#include "kernels/cuda/graph_attention_tiles_instances.h"
