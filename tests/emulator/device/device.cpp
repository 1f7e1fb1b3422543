#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>

#include "src/core/cuda_device.h"
#include "tests/emulator/device/device_memory.h"

/// Stands in for src/cuda/device.cpp and src/no_cuda/device.cpp: a program that links this finds a GPU. Its symbols
/// come before those of the shared library.
namespace bough {
namespace emulator {
namespace {

/// All regions, and how many want to access them.
struct DeviceMemory {
  std::mutex mutex;
  std::map<void*, std::size_t> regions;
  int accesses = 0;

  void protect(int protection) {
    for (const auto& [address, bytes] : regions) mprotect(address, bytes, protection);
  }
};

DeviceMemory& device_memory() {
  static DeviceMemory& memory = *new DeviceMemory;  // tensors with static lifetime may outlive it otherwise
  return memory;
}

}  // namespace

DeviceAccess::DeviceAccess() {
  DeviceMemory& memory = device_memory();
  const std::scoped_lock lock(memory.mutex);
  if (memory.accesses++ == 0) memory.protect(PROT_READ | PROT_WRITE);
}
DeviceAccess::~DeviceAccess() {
  DeviceMemory& memory = device_memory();
  const std::scoped_lock lock(memory.mutex);
  if (--memory.accesses == 0) memory.protect(PROT_NONE);
}

}  // namespace emulator

bool built_with_cuda() noexcept { return true; }
int cuda_device_count() noexcept { return 1; }

void* cuda_allocate(int, std::size_t bytes) {
  const std::size_t pages = (bytes + 4095) / 4096 * 4096;
  void* address = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  std::memset(address, 0xFF, pages);  // what nobody has written is NaN
  emulator::DeviceMemory& memory = emulator::device_memory();
  const std::scoped_lock lock(memory.mutex);
  memory.regions[address] = pages;
  if (memory.accesses == 0) mprotect(address, pages, PROT_NONE);
  return address;
}

void cuda_free(int, void* address) noexcept {
  emulator::DeviceMemory& memory = emulator::device_memory();
  const std::scoped_lock lock(memory.mutex);
  munmap(address, memory.regions[address]);
  memory.regions.erase(address);
}

void cuda_copy(int, void* target, const void* source, std::size_t bytes, CopyDirection) {
  const emulator::DeviceAccess access;
  std::memmove(target, source, bytes);
}

template <typename T>
void cuda_accumulate(int, const T* source, T scale, T* target, std::int64_t count) {
  const emulator::DeviceAccess access;
  for (std::int64_t i = 0; i < count; ++i) target[i] += scale * source[i];
}
template void cuda_accumulate(int, const float*, float, float*, std::int64_t);
template void cuda_accumulate(int, const double*, double, double*, std::int64_t);

}  // namespace bough
