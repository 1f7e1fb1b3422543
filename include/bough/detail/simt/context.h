#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "bough/core/launch_trace.h"

/// Marks code of kernels: under nvcc it compiles for the device only, elsewhere it is plain C++.
#if defined(__CUDACC__)
#define BOUGH_DEVICE __device__ __forceinline__
#else
#define BOUGH_DEVICE
#endif

/// What kernels are written in. A kernel body is a struct of plain views with
///     template <typename Context> BOUGH_DEVICE void operator()(Context& context) const;
/// which every thread of the launch calls. All it may use of the machine is in the context: on a GPU cuda::Context
/// (bough/detail/cuda/context.h), in tests emulator::Context (tests/emulator/engine/context.h), which runs on the host
/// and checks the rules below.
namespace bough::simt {

inline constexpr int warp_size = 32;

/// Numbers of a thread, and how it meets others.
///  - `sync` is the barrier of a block: all its threads must reach the same one, none may have returned.
///  - `sync_warp`, `shuffle`, `shuffle_xor` and `ballot` are executed by all 32 lanes of a warp together. Only the
///    first orders accesses to memory.
///  - `load`, `store` and `atomic_add` are the only ways to global memory; no word that one block writes may be touched
///    by another block of the launch. Any threads may add to the same word, in an unspecified order; in that launch it
///    must not be accessed otherwise.
///  - `shared<T>(n)` gives the block's next array of n elements. All threads ask for the same arrays in the same order,
///    and elements are undefined until they are set.
template <typename Context>
concept ExecutionContext = requires(Context& context, const float* from, float* to, float value, int lane) {
  { context.thread() } -> std::same_as<int>;
  { context.block_size() } -> std::same_as<int>;
  { context.lane() } -> std::same_as<int>;
  { context.warp() } -> std::same_as<int>;
  { context.block() } -> std::same_as<std::int64_t>;
  { context.num_blocks() } -> std::same_as<std::int64_t>;
  context.sync();
  context.sync_warp();
  { context.shuffle(value, lane) } -> std::same_as<float>;
  { context.shuffle_xor(value, lane) } -> std::same_as<float>;
  { context.ballot(true) } -> std::same_as<std::uint32_t>;
  { context.load(from) } -> std::same_as<float>;
  context.store(to, value);
  context.atomic_add(to, value);
  { context.template shared<float>(lane).get(lane) } -> std::same_as<float>;
  context.template shared<float>(lane).set(lane, value);
};

/// How a body is started: on num_blocks blocks of block_size threads, which is a multiple of 32 up to 1024.
struct Launch {
  const char* name = "";
  std::int64_t num_blocks = 0;  ///< 0: nothing to do
  int block_size = 128;
  std::size_t shared_bytes = 0;
};

/// The same launch as LaunchTrace and errors describe it.
inline KernelLaunch observable(const Launch& launch, int device) {
  return {.kernel = launch.name,
          .device = Device::cuda(device),
          .blocks = launch.num_blocks,
          .block_size = launch.block_size,
          .shared_bytes = launch.shared_bytes};
}

/// The shared memory that shared<T>(count) takes.
template <typename T>
constexpr std::size_t shared_bytes(std::int64_t count) {
  return (static_cast<std::size_t>(count) * sizeof(T) + 15) / 16 * 16;
}

/// Shared memory that every GPU gives a block without a special request.
inline constexpr std::size_t most_shared_bytes = 48 * 1024;

/// Several numbers that are loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T values[N];
};

/// Number of blocks for `count` work items, of which a block takes `per_block`.
constexpr std::int64_t blocks_for(std::int64_t count, std::int64_t per_block) {
  return (count + per_block - 1) / per_block;
}

/// The number of a thread, or of a warp, among all of a launch.
template <int BlockSize, typename Context>
BOUGH_DEVICE std::int64_t thread_number(const Context& context) {
  return context.block() * BlockSize + context.thread();
}
template <int BlockSize, typename Context>
BOUGH_DEVICE std::int64_t warp_number(const Context& context) {
  return context.block() * (BlockSize / warp_size) + context.warp();
}

/// Calls f(0), f(1), ... f(N - 1), each compiled by itself: arrays that f indexes stay in registers.
template <int N, typename F>
BOUGH_DEVICE void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(I), ...); }
  (std::make_integer_sequence<int, N>());
}

/// Starts a body with a thread, or a warp, for each of `count` work items.
template <typename Queue, typename Body>
void launch_threads(Queue& queue, const char* name, std::int64_t count, const Body& body) {
  queue.launch({.name = name, .num_blocks = blocks_for(count, Body::block_size), .block_size = Body::block_size}, body);
}
template <typename Queue, typename Body>
void launch_warps(Queue& queue, const char* name, std::int64_t count, const Body& body) {
  queue.launch(
      {.name = name, .num_blocks = blocks_for(count, Body::block_size / warp_size), .block_size = Body::block_size},
      body);
}

}  // namespace bough::simt
