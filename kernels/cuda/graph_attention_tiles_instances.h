// The types that kernels/cuda/graph_attention_tiles.h promises. Ends the source that defines its functions, on a GPU or
// without one, so no #pragma once.
#include "kernels/cuda/graph_attention_tiles.h"

namespace bough {

template void attend_tiles(Cuda, const simt::TileView&, const AttentionInputs<float>&, const AttentionOutputs<float>&);
template void attend_tiles_backward(Cuda, const simt::TileView&, std::span<const simt::TileBatchView>,
                                    const AttentionInputs<float>&, const AttentionGradients<float>&);
template void attend_tiles_backward_atomically(Cuda, const simt::TileView&, const AttentionInputs<float>&,
                                               const AttentionGradients<float>&);
template void attend_tiles(Cuda, const simt::TileView&, const AttentionInputs<double>&,
                           const AttentionOutputs<double>&);
template void attend_tiles_backward(Cuda, const simt::TileView&, std::span<const simt::TileBatchView>,
                                    const AttentionInputs<double>&, const AttentionGradients<double>&);
template void attend_tiles_backward_atomically(Cuda, const simt::TileView&, const AttentionInputs<double>&,
                                               const AttentionGradients<double>&);
template void attend_tiles(Cuda, const simt::TileView&, const AttentionInputs<bfloat16>&,
                           const AttentionOutputs<bfloat16>&);
template void attend_tiles_backward(Cuda, const simt::TileView&, std::span<const simt::TileBatchView>,
                                    const AttentionInputs<bfloat16>&, const AttentionGradients<bfloat16>&);
template void attend_tiles_backward_atomically(Cuda, const simt::TileView&, const AttentionInputs<bfloat16>&,
                                               const AttentionGradients<bfloat16>&);

}  // namespace bough
