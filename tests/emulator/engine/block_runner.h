#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "bough/core/parallel.h"
#include "bough/detail/simt/context.h"
#include "tests/emulator/engine/fiber.h"
#include "tests/emulator/engine/memory_map.h"
#include "tests/emulator/engine/memory_rules.h"
#include "tests/emulator/engine/traffic.h"

namespace bough::emulator {

/// In which order blocks, warps and lanes get their turns. A kernel's result must not depend on it.
enum class Order : std::uint8_t { ascending, descending };

/// Whether transactions are counted and reads of global memory remembered, which takes half of the time.
enum class Counting : std::uint8_t { on, off };

/// Runs the blocks of one launch one after the other, each thread as a fiber that goes on until it has to wait for
/// others. Deterministic. KernelFault when threads meet in a way that the hardware leaves undefined.
class BlockRunner {
 public:
  /// Fibers are taken from `fibers`, which grows as needed, and can be used again afterwards. With a map of the global
  /// memory, no thread may touch any other.
  BlockRunner(const simt::Launch& launch, Order order, std::vector<std::unique_ptr<Fiber>>& fibers,
              Counting counting = Counting::on, const MemoryMap* memory = nullptr);

  void run(FunctionRef<void(BlockRunner& runner, int thread)> body);
  const Traffic& traffic() const { return traffic_; }

  // What threads call while they run.
  const simt::Launch& launch() const { return launch_; }
  std::int64_t block() const { return block_; }
  void sync(int thread, const std::source_location& site);
  void sync_warp(int thread, const std::source_location& site);
  /// Every lane gives up to 16 bytes; then lane `from` of the thread's warp can be read until the next exchange.
  using Slot = std::array<std::byte, 16>;
  void give(int thread, const Slot& value, const char* collective, const std::source_location& site);
  const Slot& given(int thread, int from_lane) const;
  void load(int thread, const void* address, std::size_t bytes, const std::source_location& site);
  void store(int thread, const void* address, std::size_t bytes, const std::source_location& site);
  void atomic_add(int thread, const void* address, std::size_t bytes, const std::source_location& site);
  /// The block's array at `offset`, made by the first thread that asks.
  SharedMemory& shared(int thread, std::size_t offset, std::size_t element_bytes, std::int64_t count,
                       const std::source_location& site);
  void shared_read(SharedMemory& memory, int thread, std::int64_t index, const std::source_location& site,
                   std::byte* value);
  void shared_write(SharedMemory& memory, int thread, std::int64_t index, const std::source_location& site,
                    const std::byte* value);

 private:
  enum class State : std::uint8_t { running, in_warp, in_block, finished };
  struct Thread {
    State state = State::running;
    const char* collective = "";
    std::source_location site;
    Moment moment;
    std::int64_t exchanges = 0;
  };

  void run_block(FunctionRef<void(BlockRunner& runner, int thread)> body);
  void run_warp(int warp);
  void count(TrafficLog::Kind kind, int thread, const std::source_location& site, std::uintptr_t address,
             std::size_t bytes);
  void check_place(int thread, const char* does, const void* address, std::size_t bytes,
                   const std::source_location& site) const;
  void resume(int thread);
  void wait(int thread, State state, const char* collective, const std::source_location& site);
  bool release_warp(int warp);
  bool release_block();
  void abandon_threads();
  std::string describe(int thread) const;
  [[noreturn]] void fail(const std::string& message) const;
  int in_order(int index, int count) const { return order_ == Order::ascending ? index : count - 1 - index; }

  simt::Launch launch_;
  Order order_;
  Counting counting_;
  const MemoryMap* memory_;
  std::int64_t block_ = 0;
  std::vector<std::unique_ptr<Fiber>>& fibers_;
  std::vector<Thread> threads_;
  /// Two for each thread: one can still be read while the next one is given.
  std::vector<std::array<Slot, 2>> slots_;
  std::vector<std::unique_ptr<SharedMemory>> shared_;
  GlobalAccesses global_;
  TrafficLog log_;
  Traffic traffic_;
  std::exception_ptr failure_;
  bool abandoned_ = false;
};

}  // namespace bough::emulator
