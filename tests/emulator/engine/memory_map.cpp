#include "tests/emulator/engine/memory_map.h"

namespace bough::emulator {

void MemoryMap::add(const void* address, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  blocks_[begin] = {begin, begin + bytes};
}

void MemoryMap::remove(const void* address) {
  const std::scoped_lock lock(mutex_);
  blocks_.erase(reinterpret_cast<std::uintptr_t>(address));
  recent_ = {};
}

bool MemoryMap::contains(const void* address, std::size_t bytes) const {
  const std::scoped_lock lock(mutex_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address), end = begin + bytes;
  for (const Block& block : recent_) {
    if (block.begin <= begin && end <= block.end) return true;
  }
  const auto after = blocks_.upper_bound(begin);
  if (after == blocks_.begin()) return false;
  const Block& block = std::prev(after)->second;
  if (end > block.end) return false;
  recent_[oldest_++ % recent_.size()] = block;
  return true;
}

}  // namespace bough::emulator
