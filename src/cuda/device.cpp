#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "bough/core/errors.h"
#include "src/core/cuda_device.h"

namespace bough {
namespace {

constexpr cudaStream_t default_stream = nullptr;

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that is reported here must not surface again in a later call
  throw DeviceError("cuda",
                    fmt::format("{} failed: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status)));
}

/// Makes a device the current one of this thread for as long as it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    check(cudaSetDevice(device), "cudaSetDevice");
  }
  ~CurrentDevice() { cudaSetDevice(previous_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int previous_ = 0;
};

cudaMemcpyKind kind_of(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::host_to_device:
      return cudaMemcpyHostToDevice;
    case CopyDirection::device_to_host:
      return cudaMemcpyDeviceToHost;
    case CopyDirection::device_to_device:
      break;
  }
  return cudaMemcpyDefault;  // the addresses tell which devices, also when they are two
}

}  // namespace

bool built_with_cuda() noexcept { return true; }

int cuda_device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // no driver or no device is a machine to work on normally
  return 0;
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
  check(status, "cudaMallocAsync");
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
  check(cudaMemcpy(target, source, bytes, kind_of(direction)), "cudaMemcpy");
}

}  // namespace bough
