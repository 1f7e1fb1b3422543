#pragma once

#include <span>

#include "kernels/attention/simt/tile_view.h"
#include "kernels/attention/views.h"
#include "kernels/backend.h"

/// Graph attention on dense tiles of a GPU; all views point into its memory. Relation keys and dropout, no other
/// options; vectors of up to simt::most_tile_features.
namespace bough {

/// Writes the rows that tiles have. float, double and bfloat16, as below.
template <typename T>
void attend_tiles(Cuda, const simt::TileView& tiles, const AttentionInputs<T>& in, const AttentionOutputs<T>& result);

/// Gradients of q for the rows that tiles have, which are written; of k, v and relation keys, which are added to.
template <typename T>
void attend_tiles_backward(Cuda, const simt::TileView& tiles, std::span<const simt::TileBatchView> batches,
                           const AttentionInputs<T>& in, const AttentionGradients<T>& gradients);

/// The same with atomic additions, in no known order.
template <typename T>
void attend_tiles_backward_atomically(Cuda, const simt::TileView& tiles, const AttentionInputs<T>& in,
                                      const AttentionGradients<T>& gradients);

}  // namespace bough
