#include <cuda_runtime_api.h>

#include <utility>

#include "bough/detail/cuda/runtime.h"
#include "src/core/cuda_device.h"
#include "src/cuda/current_device.h"

namespace bough {
namespace {

using cuda::check;
using cuda::CurrentDevice;

/// The stream that this thread captures, if it does.
struct CapturedStream {
  int device = -1;
  cudaStream_t stream = nullptr;
};

CapturedStream& captured() {
  thread_local CapturedStream stream;
  return stream;
}

cudaGraphExec_t handle_of(CudaGraph* graph) { return reinterpret_cast<cudaGraphExec_t>(graph); }

}  // namespace

cudaStream_t cuda::work_stream(int device) noexcept {
  return captured().device == device ? captured().stream : nullptr;
}

void cuda_begin_capture(int device) {
  const CurrentDevice current(device);
  cudaStream_t stream = nullptr;
  // The default stream cannot be captured; one that does not wait for it lets memory and constants go there meanwhile.
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  const cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  if (status != cudaSuccess) cudaStreamDestroy(stream);
  check(status, "cudaStreamBeginCapture");
  captured() = {device, stream};
}

CudaGraph* cuda_end_capture(int device) {
  const CurrentDevice current(device);
  const cudaStream_t stream = std::exchange(captured(), {}).stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaError_t status = cudaStreamEndCapture(stream, &graph);
  cudaStreamDestroy(stream);
  check(status, "cudaStreamEndCapture");
  status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  return reinterpret_cast<CudaGraph*>(executable);
}

void cuda_replay(int device, CudaGraph* graph) {
  const CurrentDevice current(device);
  check(cudaGraphLaunch(handle_of(graph), nullptr), "cudaGraphLaunch");
}

void cuda_free_graph(int device, CudaGraph* graph) noexcept {
  try {
    const CurrentDevice current(device);
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  } catch (const DeviceError&) {
    // The driver may be gone at the end of the process.
  }
  cudaGraphExecDestroy(handle_of(graph));
}

}  // namespace bough
