#include <cuda_runtime_api.h>

#include "bough/detail/cuda/runtime.h"
#include "src/core/cuda_device.h"
#include "src/cuda/current_device.h"

namespace bough {

using cuda::check;
using cuda::CurrentDevice;

namespace {

cudaStream_t handle_of(CudaStream* stream) { return reinterpret_cast<cudaStream_t>(stream); }
cudaEvent_t handle_of(CudaEvent* event) { return reinterpret_cast<cudaEvent_t>(event); }

}  // namespace

CudaStream* cuda_make_stream(int device) {
  const CurrentDevice current(device);
  cudaStream_t stream = nullptr;
  // Otherwise each copy would wait for all kernels, and they for it.
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return reinterpret_cast<CudaStream*>(stream);
}

void cuda_free_stream(int, CudaStream* stream) noexcept { cudaStreamDestroy(handle_of(stream)); }

CudaEvent* cuda_make_event(int device) {
  const CurrentDevice current(device);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return reinterpret_cast<CudaEvent*>(event);
}

void cuda_free_event(int, CudaEvent* event) noexcept { cudaEventDestroy(handle_of(event)); }

void cuda_record(int device, CudaEvent* event, CudaStream* stream) {
  const CurrentDevice current(device);
  check(cudaEventRecord(handle_of(event), handle_of(stream)), "cudaEventRecord");
}

void cuda_wait(int device, CudaStream* stream, CudaEvent* event) {
  const CurrentDevice current(device);
  check(cudaStreamWaitEvent(handle_of(stream), handle_of(event), 0), "cudaStreamWaitEvent");
}

void cuda_synchronize(int device, CudaEvent* event) {
  const CurrentDevice current(device);
  check(cudaEventSynchronize(handle_of(event)), "cudaEventSynchronize");
}

void* cuda_allocate_pinned(std::size_t bytes) {
  void* address = nullptr;
  const cudaError_t status = cudaHostAlloc(&address, bytes, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(status, "cudaHostAlloc", bytes);
  return address;
}

void cuda_free_pinned(void* address) noexcept { cudaFreeHost(address); }

void cuda_copy_on(int device, CudaStream* stream, void* target, const void* pinned, std::size_t bytes) {
  if (bytes == 0) return;
  const CurrentDevice current(device);
  check(cudaMemcpyAsync(target, pinned, bytes, cudaMemcpyHostToDevice, handle_of(stream)), "cudaMemcpyAsync", bytes);
}

}  // namespace bough
