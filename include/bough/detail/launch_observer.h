#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "bough/core/launch_trace.h"

namespace bough {

/// Passes each launch to the callback of the one LaunchTrace; see there.
class LaunchObserver {
 public:
  LaunchObserver(std::function<void(const KernelLaunch&)> on_launch, LaunchTraceOptions options)
      : on_launch_(std::move(on_launch)), options_(options) {}

  const LaunchTraceOptions& options() const { return options_; }
  void notify(const KernelLaunch& launch) {
    const std::scoped_lock lock(mutex_);
    on_launch_(launch);
  }

 private:
  std::mutex mutex_;
  std::function<void(const KernelLaunch&)> on_launch_;
  LaunchTraceOptions options_;
};

/// That of the LaunchTrace that lives now; null if there is none.
std::shared_ptr<LaunchObserver> launch_observer() noexcept;

/// Starts a kernel and notifies the observer, if there is one. The backend gives the rest: probe.resources() gives
/// KernelResources if there are any, probe.milliseconds(start) starts the kernel and waits for it, if it runs now.
/// Every queue launches through this.
template <typename Probe, typename Start>
void observed_launch(const KernelLaunch& launch, const Probe& probe, const Start& start) {
  const std::shared_ptr<LaunchObserver> observer = launch_observer();
  if (observer == nullptr) return start();
  KernelLaunch seen = launch;
  if (observer->options().resources) seen.resources = probe.resources();
  if (observer->options().timing) {
    seen.milliseconds = probe.milliseconds(start);
  } else {
    start();
  }
  observer->notify(seen);
}

}  // namespace bough
