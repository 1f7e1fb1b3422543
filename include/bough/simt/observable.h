#pragma once

#include "bough/core/launch_trace.h"
#include "bough/simt/context.h"

namespace bough::simt {

/// A launch as traces and errors tell of it.
inline KernelLaunch observable(const Launch& launch, int device) {
  return {.kernel = launch.name,
          .device = Device::cuda(device),
          .blocks = launch.num_blocks,
          .block_size = launch.block_size,
          .shared_bytes = launch.shared_bytes};
}

}  // namespace bough::simt
