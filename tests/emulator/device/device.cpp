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

/// One range of addresses for everything, so that a single call protects it, and how many want to access it.
struct DeviceMemory {
  static constexpr std::size_t capacity = std::size_t{4} << 30;

  std::mutex mutex;
  std::byte* start =
      static_cast<std::byte*>(mmap(nullptr, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  std::size_t used = 0;
  std::map<void*, std::size_t> taken;
  std::multimap<std::size_t, void*> free;
  int accesses = 0;

  void protect(int protection) {
    if (used > 0) mprotect(start, used, protection);
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
  emulator::DeviceMemory& memory = emulator::device_memory();
  void* address = nullptr;
  {
    const std::scoped_lock lock(memory.mutex);
    if (const auto known = memory.free.find(pages); known != memory.free.end()) {
      address = known->second;
      memory.free.erase(known);
    } else {
      if (memory.start == MAP_FAILED || pages > memory.capacity - memory.used) return nullptr;
      address = memory.start + memory.used;
      memory.used += pages;
      if (memory.accesses > 0) memory.protect(PROT_READ | PROT_WRITE);
    }
    memory.taken[address] = pages;
  }
  const emulator::DeviceAccess access;
  std::memset(address, 0xFF, pages);  // what nobody has written is NaN
  return address;
}

void cuda_free(int, void* address) noexcept {
  emulator::DeviceMemory& memory = emulator::device_memory();
  const std::scoped_lock lock(memory.mutex);
  memory.free.emplace(memory.taken[address], address);
  memory.taken.erase(address);
}

void cuda_copy(int, void* target, const void* source, std::size_t bytes, CopyDirection) {
  const emulator::DeviceAccess access;
  std::memmove(target, source, bytes);
}

void cuda_fill(int, void* target, const void* element, std::size_t size, std::int64_t count) {
  const emulator::DeviceAccess access;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<std::byte*>(target) + static_cast<std::size_t>(i) * size, element, size);
  }
}

template <typename T>
void cuda_accumulate(int, const T* source, T scale, T* target, std::int64_t count) {
  const emulator::DeviceAccess access;
  for (std::int64_t i = 0; i < count; ++i) target[i] += scale * source[i];
}
template void cuda_accumulate(int, const float*, float, float*, std::int64_t);
template void cuda_accumulate(int, const double*, double, double*, std::int64_t);

}  // namespace bough
