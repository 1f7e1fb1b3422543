#include "tasks/runner/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace bough::runner {
namespace {

constexpr std::int64_t same_request_milliseconds = 1000;

// A signal handler can reach nothing but a global. Milliseconds when the first signal came; 0: none has.
std::atomic<std::int64_t> first_signal = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// Of a clock that is never 0; a handler may ask it.
std::int64_t milliseconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return 1 + std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

extern "C" void note_signal(int signal) {
  std::int64_t first = 0;
  const std::int64_t now = milliseconds_now();
  if (first_signal.compare_exchange_strong(first, now) || now - first < same_request_milliseconds) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  first_signal = 0;
  interrupt_before_ = std::signal(SIGINT, note_signal);
  terminate_before_ = std::signal(SIGTERM, note_signal);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, interrupt_before_);
  std::signal(SIGTERM, terminate_before_);
}

bool interrupted() { return first_signal != 0; }

}  // namespace bough::runner
