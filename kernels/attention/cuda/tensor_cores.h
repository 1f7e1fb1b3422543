#pragma once

#include "kernels/attention/simt/tile_view.h"
#include "kernels/attention/views.h"
#include "kernels/backend.h"

namespace bough {

/// attend_tiles with the tensor cores of a GPU; all views point into its memory. See
/// kernels/attention/simt/tensor_cores.h. DeviceError where they do not take bfloat16.
void attend_tiles_on_tensor_cores(Cuda, const simt::TileView& tiles, const AttentionInputs<bfloat16>& in,
                                  const AttentionOutputs<bfloat16>& result);

}  // namespace bough
