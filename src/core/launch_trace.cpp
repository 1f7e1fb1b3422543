#include "bough/core/launch_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "bough/core/errors.h"
#include "bough/detail/launch_observer.h"

namespace bough {
namespace {

/// The observer of the process. A launch looks at the flag first, which costs nothing while there is none.
struct ObserverPlace {
  std::atomic<bool> taken = false;
  std::mutex mutex;
  std::shared_ptr<LaunchObserver> observer;
};

ObserverPlace& observer_place() {
  static ObserverPlace& place = *new ObserverPlace;  // kernels may be launched while the process ends
  return place;
}

}  // namespace

std::shared_ptr<LaunchObserver> launch_observer() noexcept {
  ObserverPlace& place = observer_place();
  if (!place.taken.load(std::memory_order_relaxed)) return nullptr;
  const std::scoped_lock lock(place.mutex);
  return place.observer;
}

LaunchTrace::LaunchTrace(std::function<void(const KernelLaunch&)> on_launch, LaunchTraceOptions options) {
  ObserverPlace& place = observer_place();
  const std::scoped_lock lock(place.mutex);
  if (place.observer != nullptr) {
    throw ConfigError("launch trace", "there is a LaunchTrace already; there can be one at a time");
  }
  place.observer = std::make_shared<LaunchObserver>(std::move(on_launch), options);
  place.taken = true;
}

LaunchTrace::~LaunchTrace() {
  ObserverPlace& place = observer_place();
  const std::scoped_lock lock(place.mutex);
  place.taken = false;
  place.observer = nullptr;
}

bool LaunchTrace::active() noexcept { return observer_place().taken; }

std::string to_string(const KernelLaunch& launch) {
  return fmt::format("{} on {}, {} blocks of {} threads with {} bytes of shared memory each", launch.kernel,
                     to_string(launch.device), launch.blocks, launch.block_size, launch.shared_bytes);
}

void LaunchSummary::add(const KernelLaunch& launch) {
  Line& line = lines_[launch.kernel];
  ++line.launches;
  line.milliseconds += launch.milliseconds.value_or(0);
  if (launch.blocks >= line.largest.blocks) line.largest = launch;
}

std::string LaunchSummary::table() const {
  if (lines_.empty()) return "no kernel was launched on a GPU\n";
  std::vector<std::pair<std::string, Line>> lines(lines_.begin(), lines_.end());
  std::ranges::stable_sort(lines, std::ranges::greater{}, [](const auto& entry) { return entry.second.milliseconds; });
  double total = 0;
  std::size_t width = 6;
  for (const auto& [name, line] : lines) {
    total += line.milliseconds;
    width = std::max(width, name.size());
  }
  std::string text =
      fmt::format("{:<{}}  {:>9}  {:>10}  {:>6}  {:>10}  {:>7}  {:>6}  {:>9}  {:>9}  {:>9}\n", "kernel", width,
                  "launches", "ms", "share", "blocks", "threads", "shared", "registers", "local", "occupancy");
  for (const auto& [name, line] : lines) {
    text += fmt::format("{:<{}}  {:>9}  {:>10}  {:>6}  {:>10}  {:>7}  {:>6}", name, width, line.launches,
                        total > 0 ? fmt::format("{:.3f}", line.milliseconds) : "-",
                        total > 0 ? fmt::format("{:.1f}%", 100 * line.milliseconds / total) : "-", line.largest.blocks,
                        line.largest.block_size, line.largest.shared_bytes);
    if (const auto& needs = line.largest.resources) {
      text += fmt::format("  {:>9}  {:>9}  {:>9}\n", needs->registers, needs->local_bytes,
                          fmt::format("{:.0f}%", 100 * needs->occupancy));
    } else {
      text += fmt::format("  {:>9}  {:>9}  {:>9}\n", "-", "-", "-");
    }
  }
  return text;
}

}  // namespace bough
