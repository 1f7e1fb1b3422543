#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bough/core/device.h"

namespace bough {

/// What the allocations under one MemoryTag hold.
struct TagStatistics {
  std::string tag;              ///< its name
  std::int64_t bytes_now = 0;   ///< in use by live tensors
  std::int64_t bytes_peak = 0;  ///< highest bytes_now since the start or reset_peak_memory
};

/// What the pooled allocator of one device has handed out. Sizes are those of the blocks, rounded up by less than 25%
/// (small blocks: to 64 bytes).
struct MemoryStatistics {
  std::int64_t bytes_now = 0;           ///< in use by live tensors
  std::int64_t bytes_peak = 0;          ///< highest bytes_now since the start or reset_peak_memory
  std::int64_t bytes_cached = 0;        ///< kept for reuse
  std::int64_t system_allocations = 0;  ///< how often the pool went to the system; constant in steady-state training
  std::vector<TagStatistics> tags;      ///< by bytes_now, largest first
};

/// Reads the figures; makes the peaks what is in use now.
MemoryStatistics memory_statistics(Device device = Device::cpu());
void reset_peak_memory(Device device = Device::cpu());

/// Returns cached blocks to the system.
void release_cached_memory(Device device = Device::cpu());

/// Allocations that would bring bytes_now above the limit throw AllocationError; 0 = no limit.
void set_memory_limit(std::int64_t bytes, Device device = Device::cpu());

/// Names the allocations of the current thread while it lives; scopes nest.
/// At most 255 different tags a process; further ones are counted as "other".
class MemoryTag {
 public:
  /// Until the end of the scope, allocations of this thread count under this name.
  explicit MemoryTag(const std::string& tag);
  ~MemoryTag();
  MemoryTag(const MemoryTag&) = delete;
  MemoryTag& operator=(const MemoryTag&) = delete;

 private:
  int previous_;
};

}  // namespace bough
