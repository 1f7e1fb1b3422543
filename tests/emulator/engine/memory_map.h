#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace bough::emulator {

/// Which global memory there is. Thread-safe.
class MemoryMap {
 public:
  void add(const void* address, std::size_t bytes);
  void remove(const void* address);
  /// Whether all these bytes lie in one of the blocks.
  bool contains(const void* address, std::size_t bytes) const;

 private:
  struct Block {
    std::uintptr_t begin = 0, end = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Block> blocks_;  ///< by their beginning
  mutable std::array<Block, 8> recent_{};   ///< found last: kernels use few blocks at a time
  mutable std::size_t oldest_ = 0;
};

}  // namespace bough::emulator
