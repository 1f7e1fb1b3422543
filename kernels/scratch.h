#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "bough/core/errors.h"
#include "src/core/allocator.h"

namespace bough {

/// Room for elements that a kernel needs while it runs: pooled, counted by memory_statistics, aligned to 64 bytes, not
/// initialised. On a GPU all work happens in order on one stream, so the next owner of the memory comes after the last
/// kernel that was launched with it.
template <typename T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Scratch() = default;
  explicit Scratch(std::int64_t count, Device device = Device::cpu()) : device_(device), count_(count) {
    if (count < 0 || count > INT64_MAX / static_cast<std::int64_t>(sizeof(T))) {
      throw AllocationError("scratch memory", "the size does not fit in 64 bits");
    }
    if (count > 0) block_ = allocator_of(device).allocate(static_cast<std::size_t>(count) * sizeof(T));
  }
  ~Scratch() {
    if (block_.address != nullptr) allocator_of(device_).free(block_);
  }
  Scratch(Scratch&& other) noexcept : device_(other.device_), block_(other.block_), count_(other.count_) {
    other.block_ = {};
  }
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(block_, other.block_);
    std::swap(count_, other.count_);
    return *this;
  }

  T* data() const { return static_cast<T*>(block_.address); }
  T& operator[](std::int64_t i) const { return data()[i]; }
  std::int64_t size() const { return count_; }

 private:
  Device device_;
  PooledAllocator::Block block_;
  std::int64_t count_ = 0;
};

}  // namespace bough
