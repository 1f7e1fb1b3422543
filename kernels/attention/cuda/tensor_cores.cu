#include "kernels/attention/cuda/tensor_cores.h"
#include "kernels/attention/simt/tensor_cores.h"
#include "kernels/cuda/matrix_unit.h"
#include "kernels/cuda/queue.h"

namespace bough {

void attend_tiles_on_tensor_cores(Cuda gpu, const simt::TileView& tiles, const AttentionInputs<bfloat16>& in,
                                  const AttentionOutputs<bfloat16>& result) {
  cuda::on_gpu("graph_attention", gpu,
               [&](auto& queue) { simt::attend_tiles_on_tensor_cores(queue, tiles, in, result); });
}

}  // namespace bough
