#include "tests/emulator/engine/fiber.h"

#include <ucontext.h>

#include <cstdint>

#include "bough/core/errors.h"

/// Sanitizers follow stacks, so they must be told of ours. The functions exist only where they do.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** saved, const void* bottom, std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* saved, const void** bottom, std::size_t* size);
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

namespace bough::emulator {
namespace {

constexpr std::size_t stack_bytes = 128 * 1024;

constexpr auto do_nothing = [] {};

}  // namespace

struct Fiber::Sanitizers {
  void* inside = __tsan_create_fiber != nullptr ? __tsan_create_fiber(0) : nullptr;
  void* outside = nullptr;
  void* inside_frames = nullptr;
  void* outside_frames = nullptr;
  const void* outside_stack = nullptr;
  std::size_t outside_size = 0;

  ~Sanitizers() {
    if (__tsan_destroy_fiber != nullptr) __tsan_destroy_fiber(inside);
  }
  void before_entering(const void* stack) {
    if (__sanitizer_start_switch_fiber != nullptr) __sanitizer_start_switch_fiber(&outside_frames, stack, stack_bytes);
    if (__tsan_switch_to_fiber != nullptr) {
      outside = __tsan_get_current_fiber();
      __tsan_switch_to_fiber(inside, 0);
    }
  }
  void after_entering() {
    if (__sanitizer_finish_switch_fiber != nullptr) {
      __sanitizer_finish_switch_fiber(inside_frames, &outside_stack, &outside_size);
    }
  }
  void before_leaving() {
    if (__sanitizer_start_switch_fiber != nullptr) {
      __sanitizer_start_switch_fiber(&inside_frames, outside_stack, outside_size);
    }
    if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(outside, 0);
  }
  void after_leaving() {
    if (__sanitizer_finish_switch_fiber != nullptr) __sanitizer_finish_switch_fiber(outside_frames, nullptr, nullptr);
  }
};

// The first entry onto the new stack is ucontext's. It would also save the signal mask at every switch, which costs
// twenty times as much as all else, so from then on _setjmp and _longjmp go back and forth.
Fiber::Fiber()
    : function_(do_nothing),
      stack_(std::make_unique_for_overwrite<std::byte[]>(stack_bytes)),
      sanitizers_(std::make_unique<Sanitizers>()) {
  ucontext_t inside, outside;
  if (getcontext(&inside) != 0) throw Error("emulator", "the system gives no context for a fiber");
  inside.uc_stack.ss_sp = stack_.get();
  inside.uc_stack.ss_size = stack_bytes;
  inside.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&inside, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(address),
              static_cast<unsigned>(address >> 32));
  if (_setjmp(outside_) == 0) {
    sanitizers_->before_entering(stack_.get());
    swapcontext(&outside, &inside);
  }
  sanitizers_->after_leaving();
}

Fiber::~Fiber() = default;

void Fiber::enter(unsigned lower, unsigned upper) {
  reinterpret_cast<Fiber*>(std::uintptr_t{lower} | std::uintptr_t{upper} << 32)->run_functions();
}

void Fiber::run_functions() {
  sanitizers_->after_entering();
  while (true) {
    pause();
    function_();
  }
}

void Fiber::set(FunctionRef<void()> function) { function_ = function; }

void Fiber::resume() {
  if (_setjmp(outside_) == 0) {
    sanitizers_->before_entering(stack_.get());
    _longjmp(inside_, 1);
  }
  sanitizers_->after_leaving();
}

void Fiber::pause() {
  if (_setjmp(inside_) == 0) {
    sanitizers_->before_leaving();
    _longjmp(outside_, 1);
  }
  sanitizers_->after_entering();
}

}  // namespace bough::emulator
