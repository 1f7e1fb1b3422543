#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>

#include "bough/detail/cuda/launch.h"
#include "bough/detail/cuda/runtime.h"
#include "src/core/cuda_device.h"

namespace bough {
namespace {

/// Calls f(i) for each element, from as many threads as there are elements or a launch can have.
template <typename F>
__global__ void run_elements(const __grid_constant__ F f, std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) f(i);
}

template <typename F>
void for_each_element(const char* name, int device, std::int64_t count, const F& f) {
  constexpr std::int64_t threads = 256, most_blocks = 65536;
  cuda::check(cudaSetDevice(device), "cudaSetDevice");
  cuda::launch_kernel(run_elements<F>,
                      {.kernel = name,
                       .device = Device::cuda(device),
                       .blocks = std::min((count + threads - 1) / threads, most_blocks),
                       .block_size = threads},
                      cuda::work_stream(device), f, count);
}

template <typename T>
struct AddScaled {
  const T* source;
  AccumType<T> scale;
  T* target;
  __device__ void operator()(std::int64_t i) const { target[i] = static_cast<T>(target[i] + scale * source[i]); }
};

template <typename Unit>
struct Fill {
  Unit* target;
  Unit element;
  __device__ void operator()(std::int64_t i) const { target[i] = element; }
};

template <typename Unit>
void fill(int device, void* target, const void* element, std::int64_t count) {
  Fill<Unit> fill{static_cast<Unit*>(target), {}};
  std::memcpy(&fill.element, element, sizeof(Unit));
  for_each_element("fill", device, count, fill);
}

struct WriteWords {
  std::uint64_t* target;
  std::uint64_t words[most_written_words];
  __device__ void operator()(std::int64_t i) const { target[i] = words[i]; }
};

}  // namespace

void cuda_write(int device, std::uint64_t* target, std::span<const std::uint64_t> words) {
  WriteWords write{target, {}};
  std::ranges::copy(words, write.words);
  for_each_element("write", device, static_cast<std::int64_t>(words.size()), write);
}

void cuda_fill(int device, void* target, const void* element, std::size_t size, std::int64_t count) {
  if (size == 1) return fill<std::uint8_t>(device, target, element, count);
  if (size == 2) return fill<std::uint16_t>(device, target, element, count);
  if (size == 4) return fill<std::uint32_t>(device, target, element, count);
  fill<std::uint64_t>(device, target, element, count);
}

template <typename T>
void cuda_accumulate(int device, const T* source, AccumType<T> scale, T* target, std::int64_t count) {
  for_each_element("accumulate", device, count, AddScaled<T>{source, scale, target});
}

template void cuda_accumulate(int, const float*, float, float*, std::int64_t);
template void cuda_accumulate(int, const double*, double, double*, std::int64_t);
template void cuda_accumulate(int, const bfloat16*, float, bfloat16*, std::int64_t);

}  // namespace bough
