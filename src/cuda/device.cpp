#include <cuda_runtime_api.h>

#include <limits>

#include "bough/core/errors.h"
#include "bough/detail/cuda/runtime.h"
#include "src/core/cuda_device.h"
#include "src/cuda/current_device.h"

namespace bough {
namespace {

using cuda::check;
using cuda::CurrentDevice;

constexpr cudaStream_t default_stream = nullptr;

}  // namespace

bool built_with_cuda() noexcept { return true; }

int cuda_device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // no driver or no device is a machine to work on normally
  return 0;
}

void cuda_keep_memory(int device) {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "cudaMemPoolSetAttribute");
}

void cuda_return_memory(int device) noexcept {
  try {
    const CurrentDevice current(device);
    cudaMemPool_t pool = nullptr;
    check(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
    check(cudaStreamSynchronize(default_stream),
          "cudaStreamSynchronize");  // freeing happens in the order of the stream
    check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
  } catch (const DeviceError&) {
    // Memory that cannot be given back is kept.
  }
}

// Memory comes from the driver's pool in the order of the default stream, on which all kernels run: neither call waits
// for the device.
void* cuda_allocate(int device, std::size_t bytes) {
  const CurrentDevice current(device);
  void* address = nullptr;
  const cudaError_t status = cudaMallocAsync(&address, bytes, default_stream);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(status, "cudaMallocAsync", bytes);
  return address;
}

void cuda_free(int device, void* address) noexcept {
  try {
    const CurrentDevice current(device);
    check(cudaFreeAsync(address, default_stream), "cudaFreeAsync");
  } catch (const DeviceError&) {
    // The driver may be gone at the end of the process, and its memory with it.
  }
}

void cuda_copy(int device, void* target, const void* source, std::size_t bytes, CopyDirection direction) {
  if (bytes == 0) return;
  const CurrentDevice current(device);
  if (direction == CopyDirection::device_to_device) {
    const cudaStream_t stream = cuda::work_stream(device);
    return check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync", bytes);
  }
  const bool up = direction == CopyDirection::host_to_device;
  check(cudaMemcpy(target, source, bytes, up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost), "cudaMemcpy", bytes);
}

// Memory of the driver's pools is not mapped into other devices; this call stages what it must, and both devices'
// earlier and later work is in order with it.
void cuda_copy_between(int target_device, void* target, int source_device, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  const CurrentDevice current(source_device);
  check(cudaMemcpyPeer(target, target_device, source, source_device, bytes), "cudaMemcpyPeer", bytes);
}

}  // namespace bough
