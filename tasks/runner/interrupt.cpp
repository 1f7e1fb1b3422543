#include "tasks/runner/interrupt.h"

#include <csignal>

namespace bough::runner {
namespace {

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t signal_seen = 0;

extern "C" void note_signal(int signal) {
  signal_seen = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signal_seen = 0;
  interrupt_before_ = std::signal(SIGINT, note_signal);
  terminate_before_ = std::signal(SIGTERM, note_signal);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, interrupt_before_);
  std::signal(SIGTERM, terminate_before_);
}

bool interrupted() { return signal_seen != 0; }

}  // namespace bough::runner
