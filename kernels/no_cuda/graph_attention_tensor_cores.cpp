#include "kernels/cuda/graph_attention_tensor_cores.h"

#include "kernels/no_cuda/no_cuda.h"

namespace bough {

void attend_tiles_on_tensor_cores(Cuda, const simt::TileView&, const AttentionInputs<bfloat16>&,
                                  const AttentionOutputs<bfloat16>&) {
  no_cuda("graph_attention");
}

}  // namespace bough
