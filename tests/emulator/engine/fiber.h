#pragma once

#include <csetjmp>
#include <cstddef>
#include <memory>

#include "bough/core/parallel.h"

namespace bough::emulator {

/// A function that can pause in the middle, with a stack of its own. All on one thread of the system.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// What the next resume begins with. It must not throw, must outlive its run, and the last one must have returned.
  void set(FunctionRef<void()> function);
  /// Goes on until the function pauses or returns.
  void resume();
  /// Called by the function: goes back to where resume was called.
  void pause();

 private:
  struct Sanitizers;

  static void enter(unsigned lower, unsigned upper);
  void run_functions();

  FunctionRef<void()> function_;
  std::unique_ptr<std::byte[]> stack_;
  std::unique_ptr<Sanitizers> sanitizers_;
  std::jmp_buf inside_, outside_;
};

}  // namespace bough::emulator
