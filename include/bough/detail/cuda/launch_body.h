#pragma once

#include "bough/detail/cuda/context.h"
#include "bough/detail/cuda/launch.h"
#include "bough/detail/cuda/runtime.h"
#include "bough/detail/simt/context.h"

/// For files that nvcc compiles.
namespace bough::cuda {

/// One block on a multiprocessor is enough for the compiler: it shall not save registers by going to memory.
template <typename Body>
__global__ void __launch_bounds__(Body::block_size, 1) run_body(const __grid_constant__ Body body) {
  Context context;
  body(context);
}

/// Starts a body, see bough/detail/simt/context.h, on a device: after all that the calling thread has given it before.
template <typename Body>
void launch_body(int device, const simt::Launch& launch, const Body& body) {
  check(cudaSetDevice(device), "cudaSetDevice");
  launch_kernel(run_body<Body>, simt::observable(launch, device), work_stream(device), body);
}

}  // namespace bough::cuda
