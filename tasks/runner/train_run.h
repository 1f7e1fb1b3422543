#pragma once

#include <functional>
#include <limits>
#include <string>

#include "tasks/runner/results.h"

namespace bough::runner {

/// How far a run is, for people.
struct RunProgress {
  std::int64_t step = 0, steps = 0;
  double loss = 0;                                           ///< mean since the last time it was told
  double metric = std::numeric_limits<double>::quiet_NaN();  ///< on the validation data; NaN before the first look
  double tokens_per_second = 0;
  std::int64_t memory_bytes = 0;
  double seconds_left = 0;
};

struct RunRequest {
  const tasks::Task* task = nullptr;
  const PlannedRun* run = nullptr;
  std::string folder = {};  ///< where log and checkpoint go; made if it is not there
  bool resume = false;      ///< go on from the checkpoint, if there is one
  /// Called about twice a second at most.
  std::function<void(const RunProgress&)> on_progress = [](const RunProgress&) {};
};

/// Trains one model to its end, or until a signal interrupts it: then it is saved and comes back as `running`. Whatever
/// goes wrong (missing data, a full disk, memory, a loss that is not finite) comes back as `failed` with the reason;
/// the last checkpoint stays.
RunResult train_run(const RunRequest& request);

/// Name of the checkpoint in a run's folder.
inline constexpr const char* checkpoint_file = "checkpoint.safetensors";

}  // namespace bough::runner
