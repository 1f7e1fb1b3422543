#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "bough/core/errors.h"
#include "src/core/cuda_device.h"
#include "tests/emulator/device/device_memory.h"

/// Stands in for src/cuda/device.cpp and src/no_cuda/device.cpp: a program that links this finds two GPUs. Its symbols
/// come before those of the shared library.
namespace bough {
namespace emulator {
namespace {

/// One range of addresses for everything on a device, so that a single call protects it, and how many want to access
/// it.
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

DeviceMemory& memory_of(int device) {
  // Never destroyed: tensors with static lifetime may outlive it otherwise.
  static auto& memories = *new std::array<DeviceMemory, num_devices>;
  return memories.at(static_cast<std::size_t>(device));
}

std::map<const void*, std::size_t>& pinned_memory() {
  static auto& memory = *new std::map<const void*, std::size_t>;
  return memory;
}

void require_pinned(const void* address, std::size_t bytes) {
  const auto after = pinned_memory().upper_bound(address);
  if (after != pinned_memory().begin()) {
    const auto& [start, size] = *std::prev(after);
    const auto offset = static_cast<const std::byte*>(address) - static_cast<const std::byte*>(start);
    if (static_cast<std::size_t>(offset) + bytes <= size) return;
  }
  throw DeviceError("cuda", "a copy of a stream reads memory that is not pinned (emulated)");
}

int& copies_given() {
  static int count = 0;
  return count;
}

int& waited_copies() {
  static int count = 0;
  return count;
}

/// What the calling thread captures; null if it does not.
CudaGraph*& captured_graph() {
  thread_local CudaGraph* graph = nullptr;
  return graph;
}

std::string& failing_kernel() {
  static std::string name;
  return name;
}

}  // namespace

DeviceAccess::DeviceAccess(int device) : device_(device) {
  DeviceMemory& memory = memory_of(device);
  const std::scoped_lock lock(memory.mutex);
  if (memory.accesses++ == 0) memory.protect(PROT_READ | PROT_WRITE);
}
DeviceAccess::~DeviceAccess() {
  DeviceMemory& memory = memory_of(device_);
  const std::scoped_lock lock(memory.mutex);
  if (--memory.accesses == 0) memory.protect(PROT_NONE);
}

int copies_waited_for() { return waited_copies(); }
int copies_under_way() { return copies_given(); }

FailingKernel::FailingKernel(std::string kernel) { failing_kernel() = std::move(kernel); }
FailingKernel::~FailingKernel() { failing_kernel().clear(); }

void fail_if_told(const KernelLaunch& launch) {
  if (failing_kernel() != launch.kernel) return;
  throw DeviceError("cuda", to_string(launch) + " failed: told to (emulated)");
}

MemoryMap& device_memory_map() {
  static MemoryMap& map = *new MemoryMap;
  return map;
}

}  // namespace emulator

bool built_with_cuda() noexcept { return true; }
int cuda_device_count() noexcept { return emulator::num_devices; }

void* cuda_allocate(int device, std::size_t bytes) {
  const std::size_t pages = (bytes + 4095) / 4096 * 4096;
  emulator::DeviceMemory& memory = emulator::memory_of(device);
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
  const emulator::DeviceAccess access(device);
  std::memset(address, 0xFF, pages);  // memory that was never written is NaN
  emulator::device_memory_map().add(address, bytes);
  return address;
}

void cuda_free(int device, void* address) noexcept {
  emulator::device_memory_map().remove(address);
  emulator::DeviceMemory& memory = emulator::memory_of(device);
  const std::scoped_lock lock(memory.mutex);
  memory.free.emplace(memory.taken[address], address);
  memory.taken.erase(address);
}

struct CudaGraph {
  std::vector<std::function<void()>> work;
};

void emulator::run_or_capture(std::function<void()> work) {
  if (CudaGraph* graph = captured_graph()) {
    graph->work.push_back(std::move(work));
  } else {
    work();
  }
}

void cuda_begin_capture(int) { emulator::captured_graph() = new CudaGraph; }
CudaGraph* cuda_end_capture(int) { return std::exchange(emulator::captured_graph(), nullptr); }
void cuda_replay(int, CudaGraph* graph) {
  for (const auto& work : graph->work) work();
}
void cuda_free_graph(int, CudaGraph* graph) noexcept { delete graph; }

// Copies to and from the host are done at once, as on a GPU: they are in no graph.
void cuda_copy(int device, void* target, const void* source, std::size_t bytes, CopyDirection direction) {
  const auto copy = [=] {
    const emulator::DeviceAccess access(device);
    std::memmove(target, source, bytes);
  };
  if (direction == CopyDirection::device_to_device) {
    emulator::run_or_capture(copy);
  } else {
    ++emulator::waited_copies();
    copy();
  }
}

void cuda_copy_between(int target_device, void* target, int source_device, const void* source, std::size_t bytes) {
  const emulator::DeviceAccess to(target_device), from(source_device);
  std::memcpy(target, source, bytes);
}

struct CudaStream {
  std::deque<std::function<void()>> waiting;
  std::int64_t given = 0, done = 0;

  /// Does what was given before the mark.
  void run_to(std::int64_t mark) {
    for (; done < mark; ++done) {
      waiting.front()();
      waiting.pop_front();
    }
  }
};
struct CudaEvent {
  CudaStream* stream = nullptr;
  std::int64_t mark = 0;
};

// Kernels happen at once, copies of streams as late as waits allow: code that forgets to wait for one gets what was
// there before, and code that changes pinned memory too early copies the change.
CudaStream* cuda_make_stream(int) { return new CudaStream; }
void cuda_free_stream(int, CudaStream* stream) noexcept {
  stream->run_to(stream->given);
  delete stream;
}
CudaEvent* cuda_make_event(int) { return new CudaEvent; }
void cuda_free_event(int, CudaEvent* event) noexcept { delete event; }
void cuda_record(int, CudaEvent* event, CudaStream* stream) {
  *event = {stream, stream == nullptr ? 0 : stream->given};
}
void cuda_wait(int device, CudaStream* stream, CudaEvent* event) {
  if (stream == nullptr) cuda_synchronize(device, event);
}
void cuda_synchronize(int, CudaEvent* event) {
  if (event->stream != nullptr) event->stream->run_to(event->mark);
}
void* cuda_allocate_pinned(std::size_t bytes) {
  void* address = std::malloc(bytes);
  emulator::pinned_memory()[address] = bytes;
  return address;
}
void cuda_free_pinned(void* address) noexcept {
  emulator::pinned_memory().erase(address);
  std::free(address);
}
void cuda_copy_on(int device, CudaStream* stream, void* target, const void* pinned, std::size_t bytes) {
  emulator::require_pinned(pinned, bytes);
  ++stream->given;
  ++emulator::copies_given();
  stream->waiting.push_back([=] {
    emulator::require_pinned(pinned, bytes);
    const emulator::DeviceAccess access(device);
    std::memcpy(target, pinned, bytes);
    --emulator::copies_given();
  });
}

void cuda_keep_memory(int) {}
void cuda_return_memory(int) noexcept {}

void cuda_fill(int device, void* target, const void* element, std::size_t size, std::int64_t count) {
  const auto* bytes = static_cast<const std::byte*>(element);
  emulator::run_or_capture([=, element = std::vector<std::byte>(bytes, bytes + size)] {
    const emulator::DeviceAccess access(device);
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<std::byte*>(target) + static_cast<std::size_t>(i) * size, element.data(), size);
    }
  });
}

void cuda_write(int device, std::uint64_t* target, std::span<const std::uint64_t> words) {
  emulator::run_or_capture([=, words = std::vector<std::uint64_t>(words.begin(), words.end())] {
    const emulator::DeviceAccess access(device);
    std::ranges::copy(words, target);
  });
}

template <typename T>
void cuda_accumulate(int device, const T* source, AccumType<T> scale, T* target, std::int64_t count) {
  emulator::run_or_capture([=] {
    const emulator::DeviceAccess access(device);
    for (std::int64_t i = 0; i < count; ++i) target[i] = static_cast<T>(target[i] + scale * source[i]);
  });
}
template void cuda_accumulate(int, const float*, float, float*, std::int64_t);
template void cuda_accumulate(int, const double*, double, double*, std::int64_t);
template void cuda_accumulate(int, const bfloat16*, float, bfloat16*, std::int64_t);

}  // namespace bough
