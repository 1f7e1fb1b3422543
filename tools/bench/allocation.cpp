#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "bough/core/errors.h"
#include "bough/core/tensor.h"
#include "tools/bench/benchmark.h"

namespace bough::bench {
namespace {

constexpr std::size_t page = 4096;

/// Fresh memory costs when it is first touched, so both sides touch every page.
void touch(volatile std::byte* memory, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += page) memory[i] = std::byte{1};
}

void from_pool(std::size_t bytes) {
  Tensor tensor = Tensor::empty({static_cast<std::int64_t>(bytes / sizeof(float))});
  touch(reinterpret_cast<std::byte*>(tensor.data<float>()), bytes);
}

void from_system(std::size_t bytes) {
  const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(64, bytes), &std::free);
  if (memory == nullptr) throw AllocationError("bench allocation", fmt::format("the system has no {} bytes", bytes));
  touch(static_cast<std::byte*>(memory.get()), bytes);
}

}  // namespace

void run_allocation(const Options& options, const Report& report) {
  for (const std::size_t kib : {4, 1024, 65536}) {
    const std::size_t bytes = kib * 1024;
    const int calls = kib > 4096 ? 2 : 200;  // of one measurement, so that the clock has something to measure
    const auto repeat = [=](void (*allocate)(std::size_t)) {
      for (int i = 0; i < calls; ++i) allocate(bytes);
    };
    const Times times = measure_both(
        options, [&] { repeat(from_pool); }, [&] { repeat(from_system); });
    report({.case_name = fmt::format("{}KiB", kib),
            .milliseconds = times.ours / calls,
            .peer = "aligned_alloc",
            .peer_milliseconds = times.peer / calls});
  }
}

}  // namespace bough::bench
