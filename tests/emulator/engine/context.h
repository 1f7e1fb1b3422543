#pragma once

#include <cstring>
#include <source_location>
#include <type_traits>

#include "tests/emulator/engine/block_runner.h"

namespace bough::emulator {

/// An array in the shared memory of a block.
template <typename T>
class SharedArray {
 public:
  SharedArray(BlockRunner& runner, SharedMemory& memory, int thread)
      : runner_(&runner), memory_(&memory), thread_(thread) {}

  T get(std::int64_t index, std::source_location site = std::source_location::current()) const {
    T value;
    runner_->shared_read(*memory_, thread_, index, site, reinterpret_cast<std::byte*>(&value));
    return value;
  }
  void set(std::int64_t index, T value, std::source_location site = std::source_location::current()) const {
    runner_->shared_write(*memory_, thread_, index, site, reinterpret_cast<const std::byte*>(&value));
  }
  /// Where an element stands in the block's shared memory.
  std::size_t byte_offset(std::int64_t index) const {
    return memory_->offset() + static_cast<std::size_t>(index) * sizeof(T);
  }

 private:
  BlockRunner* runner_;
  SharedMemory* memory_;
  int thread_;
};

/// The execution context of one emulated thread. See bough/detail/simt/context.h for what its functions mean.
class Context {
 public:
  using Site = std::source_location;

  Context(BlockRunner& runner, int thread) : runner_(runner), thread_(thread) {}

  int thread() const { return thread_; }
  int block_size() const { return runner_.launch().block_size; }
  int lane() const { return thread_ % simt::warp_size; }
  int warp() const { return thread_ / simt::warp_size; }
  std::int64_t block() const { return runner_.block(); }
  std::int64_t num_blocks() const { return runner_.launch().num_blocks; }

  void sync(Site site = Site::current()) { runner_.sync(thread_, site); }
  void sync_warp(Site site = Site::current()) { runner_.sync_warp(thread_, site); }

  template <typename T>
  T shuffle(T value, int from_lane, Site site = Site::current()) {
    return exchange(value, from_lane, "shuffle", site);
  }
  template <typename T>
  T shuffle_xor(T value, int mask, Site site = Site::current()) {
    return exchange(value, lane() ^ mask, "shuffle_xor", site);
  }
  std::uint32_t ballot(bool vote, Site site = Site::current()) {
    const auto all = gather(vote, "ballot", site);
    std::uint32_t votes = 0;
    for (int from = 0; from < simt::warp_size; ++from) votes |= std::uint32_t{all[from]} << from;
    return votes;
  }
  /// What each lane gives. Not for kernels; what hardware does with all lanes of a warp is made from it.
  template <typename T>
  std::array<T, simt::warp_size> gather(T value, const char* collective, Site site) {
    runner_.give(thread_, pack(value), collective, site);
    std::array<T, simt::warp_size> all;
    for (int from = 0; from < simt::warp_size; ++from) all[from] = unpack<T>(runner_.given(thread_, from));
    return all;
  }

  template <typename T>
  T load(const T* address, Site site = Site::current()) {
    runner_.load(thread_, address, sizeof(T), site);
    return *address;
  }
  template <typename T>
  void store(T* address, std::type_identity_t<T> value, Site site = Site::current()) {
    runner_.store(thread_, address, sizeof(T), site);
    *address = value;
  }
  template <typename T>
  void atomic_add(T* address, std::type_identity_t<T> value, Site site = Site::current()) {
    runner_.atomic_add(thread_, address, sizeof(T), site);
    *address += value;
  }

  template <typename T>
  SharedArray<T> shared(std::int64_t count, Site site = Site::current()) {
    SharedMemory& memory = runner_.shared(thread_, shared_used_, sizeof(T), count, site);
    shared_used_ += simt::shared_bytes<T>(count);
    return {runner_, memory, thread_};
  }

 private:
  template <typename T>
  static BlockRunner::Slot pack(T value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(BlockRunner::Slot));
    BlockRunner::Slot slot{};
    std::memcpy(slot.data(), &value, sizeof(T));
    return slot;
  }
  template <typename T>
  static T unpack(const BlockRunner::Slot& slot) {
    T value;
    std::memcpy(&value, slot.data(), sizeof(T));
    return value;
  }
  template <typename T>
  T exchange(T value, int from_lane, const char* collective, Site site) {
    if (from_lane < 0 || from_lane >= simt::warp_size) {
      throw KernelFault(collective, "thread " + std::to_string(thread_) + " asks lane " + std::to_string(from_lane));
    }
    runner_.give(thread_, pack(value), collective, site);
    return unpack<T>(runner_.given(thread_, from_lane));
  }

  BlockRunner& runner_;
  int thread_;
  std::size_t shared_used_ = 0;
};

static_assert(simt::ExecutionContext<Context>);

}  // namespace bough::emulator
