#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <unordered_map>
#include <vector>

#include "bough/core/errors.h"

namespace bough::emulator {

/// A kernel broke a rule of its context: the message names kernel, threads and places in the source.
struct KernelFault : Error {
  using Error::Error;
};

/// A thread at some moment of its launch: how many barriers of the block and of its warp it has passed.
struct Moment {
  int thread = -1;
  std::int64_t block = 0;
  std::int64_t block_syncs = 0;
  std::int64_t warp_syncs = 0;

  int warp() const { return thread / 32; }
  /// Whether what happened at `earlier` is surely visible now. Nothing of another block is before the launch ends.
  bool sees(const Moment& earlier) const {
    if (earlier.block != block) return false;
    return earlier.thread == thread || earlier.block_syncs < block_syncs ||
           (earlier.warp() == warp() && earlier.warp_syncs < warp_syncs);
  }
};

/// What threads have done to one word. An access is in order if barriers put it behind every earlier one that it could
/// get in the way of: a read behind the last write, a write behind that and behind all reads since. Atomic
/// additions are in order with each other and with nothing else.
class History {
 public:
  struct Access {
    Moment moment;  ///< thread -1: never
    std::source_location site;
    bool atomic = false;
    bool happened() const { return moment.thread >= 0; }
  };

  const Access& last_write() const { return write_; }
  /// The earlier access that this one is not in order with; null if it is, and then remembered.
  const Access* read(const Moment& now, const std::source_location& site);
  const Access* write(const Moment& now, const std::source_location& site);
  const Access* add(const Moment& now, const std::source_location& site);

 private:
  Access write_, read_;           ///< the last ones; an addition is a write
  bool several_blocks_ = false;   ///< have read
  bool several_warps_ = false;    ///< have read since the last barrier of the block
  bool several_threads_ = false;  ///< have read since the last barrier of the reading warp
};

/// One array of a block's shared memory. Every access is checked: inside the array, written before it is read, and
/// nothing that two threads do to one element is left unordered.
class SharedMemory {
 public:
  SharedMemory(std::size_t offset, std::size_t element_bytes, std::int64_t count);

  std::size_t offset() const { return offset_; }
  std::size_t element_bytes() const { return element_bytes_; }
  std::int64_t count() const { return static_cast<std::int64_t>(elements_.size()); }

  void read(std::int64_t index, const Moment& now, const std::source_location& site, std::byte* value);
  void write(std::int64_t index, const Moment& now, const std::source_location& site, const std::byte* value);

 private:
  History& at(std::int64_t index, const Moment& now, const std::source_location& site);

  std::size_t offset_, element_bytes_;
  std::vector<History> elements_;
  std::vector<std::byte> values_;
};

/// What a launch has done to global memory, by words of 4 bytes and single bytes. No block may touch what another one
/// writes, and threads of one block only behind a barrier. What is added to atomically may be added to by every thread,
/// and accessed in no other way.
class GlobalAccesses {
 public:
  /// remember: so that a later write by others is found too.
  void read(const void* address, std::size_t bytes, const Moment& now, const std::source_location& site, bool remember);
  void write(const void* address, std::size_t bytes, const Moment& now, const std::source_location& site);
  void add(const void* address, std::size_t bytes, const Moment& now, const std::source_location& site);

 private:
  std::unordered_map<std::uintptr_t, History> words_;
};

}  // namespace bough::emulator
