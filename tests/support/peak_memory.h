#pragma once

#include <cstdint>

#include "bough/core/memory.h"
#include "tests/support/threads.h"

namespace bough::test {

/// Bytes that `run` holds at its peak beyond what was held before it. It runs on one thread: a thread that joins
/// brings scratch of its own, and how many join depends on what else the machine does.
template <typename Run>
std::int64_t peak_bytes(const Run& run) {
  const ThreadCount one(1);
  const std::int64_t before = memory_statistics().bytes_now;
  reset_peak_memory();
  run();
  return memory_statistics().bytes_peak - before;
}

}  // namespace bough::test
