#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bough/core/bfloat16.h"

/// What the runtime needs of CUDA. src/cuda has it on a GPU; src/no_cuda has the same symbols for builds without it,
/// where all that needs a device throws DeviceError with a hint.
namespace bough {

bool built_with_cuda() noexcept;
/// 0 where the build or the machine has no CUDA; never throws.
int cuda_device_count() noexcept;
/// Makes the driver keep what the pool of a device has had, so that a steady state never goes back to it.
void cuda_keep_memory(int device);
/// Gives memory back; waits for the device.
void cuda_return_memory(int device) noexcept;
/// Null when the device has no memory left.
void* cuda_allocate(int device, std::size_t bytes);
void cuda_free(int device, void* address) noexcept;
enum class CopyDirection { host_to_device, device_to_host, device_to_device };
/// Between the host and a device, or inside a device; the host may use its memory as soon as it returns.
void cuda_copy(int device, void* target, const void* source, std::size_t bytes, CopyDirection direction);
/// From one device to another, after all work that was given to either before.
void cuda_copy_between(int target_device, void* target, int source_device, const void* source, std::size_t bytes);

/// A stream of copies beside the one of kernels, and marks in streams that others can wait for. Null stands for the
/// stream of kernels.
struct CudaStream;
struct CudaEvent;
CudaStream* cuda_make_stream(int device);
/// What the stream has been given still happens.
void cuda_free_stream(int device, CudaStream* stream) noexcept;
CudaEvent* cuda_make_event(int device);
void cuda_free_event(int device, CudaEvent* event) noexcept;
/// The event stands for all that the stream has been given so far.
void cuda_record(int device, CudaEvent* event, CudaStream* stream);
/// What the stream is given from now on waits for the event; the host does not.
void cuda_wait(int device, CudaStream* stream, CudaEvent* event);
/// The host waits for the event.
void cuda_synchronize(int device, CudaEvent* event);

/// Memory of the host that a device can read on its own. Null if there is none left.
void* cuda_allocate_pinned(std::size_t bytes);
void cuda_free_pinned(void* address) noexcept;
/// Copies from pinned memory, which must stay as it is until the stream is done with it.
void cuda_copy_on(int device, CudaStream* stream, void* target, const void* pinned, std::size_t bytes);

/// Between these two, what this thread gives the stream of kernels of the device is not done but captured.
void cuda_begin_capture(int device);
struct CudaGraph;
CudaGraph* cuda_end_capture(int device);
/// Gives the stream of kernels all that was captured.
void cuda_replay(int device, CudaGraph* graph);
void cuda_free_graph(int device, CudaGraph* graph) noexcept;

/// count copies of an element of `size` bytes (1, 2, 4 or 8) into memory of the device. Does not wait for it.
void cuda_fill(int device, void* target, const void* element, std::size_t size, std::int64_t count);
/// Words into memory of the device, at most most_written_words of them. They go with the launch: does not wait for the
/// device, and the words may go as soon as this returns.
inline constexpr std::size_t most_written_words = 32;
void cuda_write(int device, std::uint64_t* target, std::span<const std::uint64_t> words);
/// target[i] += scale * source[i], both on the device. float, double and bfloat16.
template <typename T>
void cuda_accumulate(int device, const T* source, AccumType<T> scale, T* target, std::int64_t count);

}  // namespace bough
