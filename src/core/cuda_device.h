#pragma once

#include <cstddef>
#include <cstdint>

/// What the runtime needs of CUDA. src/cuda has it on a GPU; src/no_cuda has the same symbols for builds without it,
/// where all that needs a device throws DeviceError with a hint.
namespace bough {

bool built_with_cuda() noexcept;
/// 0 where the build or the machine has no CUDA; never throws.
int cuda_device_count() noexcept;
/// Null when the device has no memory left.
void* cuda_allocate(int device, std::size_t bytes);
void cuda_free(int device, void* address) noexcept;
enum class CopyDirection { host_to_device, device_to_host, device_to_device };
void cuda_copy(int device, void* target, const void* source, std::size_t bytes, CopyDirection direction);
/// count copies of an element of `size` bytes (1, 4 or 8) into memory of the device. Does not wait for it.
void cuda_fill(int device, void* target, const void* element, std::size_t size, std::int64_t count);
/// target[i] += scale * source[i], both on the device. float and double.
template <typename T>
void cuda_accumulate(int device, const T* source, T scale, T* target, std::int64_t count);

}  // namespace bough
