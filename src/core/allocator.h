#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bough/core/device.h"
#include "bough/core/memory.h"

namespace bough {

class PooledAllocator;

/// Memory of a device for captured work: what is freed of it is not reused elsewhere while this lives.
class CapturePool {
 public:
  explicit CapturePool(PooledAllocator& owner) : owner_(owner) {}
  ~CapturePool();
  CapturePool(const CapturePool&) = delete;
  CapturePool& operator=(const CapturePool&) = delete;

 private:
  friend class PooledAllocator;
  PooledAllocator& owner_;
  std::map<std::size_t, std::vector<void*>> cache_;
};

/// Hands out 64-byte aligned blocks of one device and keeps freed ones by size for the next request, so that a training
/// step whose shapes repeat never reaches the system. Thread-safe.
/// BOUGH_MEMORY_POOL=off keeps none but capture pools and rounds no size up: slower, but what checks memory
/// (address sanitizer, compute-sanitizer, the emulated GPU of the tests) then sees every tensor's bounds and lifetime.
class PooledAllocator {
 public:
  struct Block {
    void* address = nullptr;
    std::size_t bytes = 0;  ///< the size class; without a pool what was asked for
    int tag = 0;
  };

  explicit PooledAllocator(Device device);
  ~PooledAllocator();
  PooledAllocator(const PooledAllocator&) = delete;
  PooledAllocator& operator=(const PooledAllocator&) = delete;

  /// At least `bytes` bytes under the calling thread's tag. On failure releases the cache and tries again, then throws
  /// AllocationError naming the size and the largest users.
  Block allocate(std::size_t bytes) { return allocate(bytes, From::anywhere); }
  enum class From { anywhere, shared_cache };
  /// The same; From::shared_cache: never from a capture pool.
  Block allocate(std::size_t bytes, From from);
  void free(const Block& block) noexcept;

  /// From now on, until end_capture, this thread gets memory that has had no other use in between: for work that is
  /// captured now and replayed later. One thread at a time; ConfigError for a second.
  std::shared_ptr<CapturePool> begin_capture();
  void end_capture() noexcept;

  MemoryStatistics statistics() const;
  void reset_peak();
  void release_cache() noexcept;
  void set_limit(std::int64_t bytes);

 private:
  struct Usage {
    std::int64_t now = 0;
    std::int64_t peak = 0;
    void add(std::int64_t bytes);
  };

  friend class CapturePool;
  void give_back(CapturePool& pool);
  void* from_system(std::size_t bytes);
  void to_system(void* address) noexcept;
  void release_cache_locked() noexcept;
  MemoryStatistics statistics_locked() const;
  [[noreturn]] void fail(std::size_t bytes, const char* reason) const;

  const Device device_;
  const bool pooled_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> cache_;
  CapturePool* capture_pool_ =
      nullptr;  ///< where capture_thread_ allocates; null outside begin_capture and end_capture
  std::thread::id capture_thread_;
  std::map<void*, CapturePool*> capture_blocks_;  ///< those in use
  Usage total_;
  std::vector<Usage> by_tag_;
  std::int64_t cached_ = 0;
  std::int64_t system_allocations_ = 0;
  std::int64_t limit_ = 0;
};

/// The allocator of a device; DeviceError if it does not exist here. Lives until the process ends.
PooledAllocator& allocator_of(Device device);

}  // namespace bough
