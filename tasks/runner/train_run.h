#pragma once

#include <functional>
#include <string>

#include "tasks/runner/results.h"
#include "tasks/training/training_loop.h"

namespace bough::runner {

struct RunRequest {
  const tasks::Task* task = nullptr;
  const PlannedRun* run = nullptr;
  std::string folder = {};   ///< where log and checkpoints go; made if it is not there
  bool resume = false;       ///< go on from the checkpoint, if there is one
  bool tensorboard = false;  ///< as training::LoopRequest::tensorboard
  pid_t own_process = 0;     ///< as training::LoopRequest::own_process
  RunInputs inputs = {};     ///< written down with results and checkpoints
  /// Asked between steps; true saves and ends.
  std::function<bool()> should_stop = [] { return false; };
  /// Called about twice a second at most.
  std::function<void(const RunProgress&)> on_progress = [](const RunProgress&) {};
};

/// Trains one model to its end, or until it should stop: then it is saved and comes back as `running`. Whatever goes
/// wrong (missing data, a full disk, memory, a loss that is not finite) comes back as `failed` with the reason; the
/// last checkpoint stays.
RunResult train_run(const RunRequest& request);

}  // namespace bough::runner
