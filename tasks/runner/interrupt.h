#pragma once

namespace bough::runner {

/// While it lives, the first SIGINT or SIGTERM only sets a flag, so that a step can be finished and saved; one that
/// comes a second or more later ends the program as it always did. Those in between are ignored: one request to end
/// often arrives twice, from the terminal or `timeout` to the process group and to the process. What handled them
/// before does so again afterwards. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*interrupt_before_)(int);
  void (*terminate_before_)(int);
};

/// Whether such a signal has come since the guard was made.
bool interrupted();

}  // namespace bough::runner
