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

/// A thread at some moment of its block: how many barriers of the block and of its warp it has passed.
struct Moment {
  int thread = -1;
  std::int64_t block_syncs = 0;
  std::int64_t warp_syncs = 0;

  int warp() const { return thread / 32; }
  /// Whether what happened at `earlier`, in the same block, is surely visible now.
  bool sees(const Moment& earlier) const {
    return earlier.thread == thread || earlier.block_syncs < block_syncs ||
           (earlier.warp() == warp() && earlier.warp_syncs < warp_syncs);
  }
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
  struct Element {
    Moment written;  ///< thread -1: never
    std::source_location writer;
    Moment read;  ///< the last one
    std::source_location reader;
    bool several_warps = false;    ///< have read since the last barrier of the block
    bool several_threads = false;  ///< have read since the last barrier of the reading warp
  };

  Element& at(std::int64_t index, const Moment& now, const std::source_location& site);

  std::size_t offset_, element_bytes_;
  std::vector<Element> elements_;
  std::vector<std::byte> values_;
};

/// What a launch has written to global memory. No block may touch what another one wrote, and threads of one block only
/// behind a barrier. What is added to atomically may be added to by everybody, and accessed in no other way.
class GlobalWrites {
 public:
  void read(const void* address, std::int64_t block, const Moment& now, const std::source_location& site);
  void write(const void* address, std::int64_t block, const Moment& now, const std::source_location& site);
  void add(const void* address, std::int64_t block, const Moment& now, const std::source_location& site);

 private:
  struct Write {
    std::int64_t block;
    Moment moment;
    std::source_location site;
    bool atomic = false;
  };
  /// KernelFault for an access that does not go together with the write before.
  [[noreturn]] static void refuse(const char* access, const Write& before, std::int64_t block, const Moment& now,
                                  const std::source_location& site);
  std::unordered_map<const void*, Write> writes_;
};

}  // namespace bough::emulator
