#include "bough/core/errors.h"
#include "src/core/cuda_device.h"

namespace bough {
namespace {

[[noreturn]] void no_cuda() {
  throw DeviceError("cuda", "this build of bough has no CUDA backend; use Device::cpu(), or --device cpu");
}

}  // namespace

bool built_with_cuda() noexcept { return false; }
int cuda_device_count() noexcept { return 0; }
void cuda_keep_memory(int) { no_cuda(); }
void cuda_return_memory(int) noexcept {}
void* cuda_allocate(int, std::size_t) { no_cuda(); }
void cuda_free(int, void*) noexcept {}
void cuda_copy(int, void*, const void*, std::size_t, CopyDirection) { no_cuda(); }
void cuda_copy_between(int, void*, int, const void*, std::size_t) { no_cuda(); }
CudaStream* cuda_make_stream(int) { no_cuda(); }
void cuda_free_stream(int, CudaStream*) noexcept {}
CudaEvent* cuda_make_event(int) { no_cuda(); }
void cuda_free_event(int, CudaEvent*) noexcept {}
void cuda_record(int, CudaEvent*, CudaStream*) { no_cuda(); }
void cuda_wait(int, CudaStream*, CudaEvent*) { no_cuda(); }
void cuda_synchronize(int, CudaEvent*) { no_cuda(); }
void* cuda_allocate_pinned(std::size_t) { no_cuda(); }
void cuda_free_pinned(void*) noexcept {}
void cuda_copy_on(int, CudaStream*, void*, const void*, std::size_t) { no_cuda(); }
void cuda_begin_capture(int) { no_cuda(); }
CudaGraph* cuda_end_capture(int) { no_cuda(); }
void cuda_replay(int, CudaGraph*) { no_cuda(); }
void cuda_free_graph(int, CudaGraph*) noexcept {}
void cuda_fill(int, void*, const void*, std::size_t, std::int64_t) { no_cuda(); }
void cuda_write(int, std::uint64_t*, std::span<const std::uint64_t>) { no_cuda(); }
template <typename T>
void cuda_accumulate(int, const T*, AccumType<T>, T*, std::int64_t) {
  no_cuda();
}
template void cuda_accumulate(int, const float*, float, float*, std::int64_t);
template void cuda_accumulate(int, const double*, double, double*, std::int64_t);
template void cuda_accumulate(int, const bfloat16*, float, bfloat16*, std::int64_t);

}  // namespace bough
