#pragma once

#include <functional>
#include <string>

#include "tasks/runner/run_plan.h"
#include "tasks/runner/train_run.h"

namespace bough::runner {

/// Callbacks for progress and results. Every call comes from the thread that called run_sweep.
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void on_progress(const std::string& /*run*/, const RunProgress& /*progress*/) {}
  /// A run has ended, or was done already.
  virtual void on_result(const RunResult& /*result*/, bool /*was_done_before*/) {}
  /// Asked between steps; true saves the runs under way and ends.
  virtual bool should_stop() { return false; }
};

struct SweepOptions {
  std::string folder = {};          ///< results.json, experiment.json and runs/<name>/ go there
  bool resume = false;              ///< unfinished runs go on from their checkpoints
  bool tensorboard = false;         ///< event files for TensorBoard in runs/<name>/tensorboard
  int jobs = 1;                     ///< above 1 every run is a process of its own
  std::string worker_program = {};  ///< a program that calls serve_worker when its only argument is run-worker
  std::string command = {};         ///< how to repeat it, for the report
  bool handle_signals = true;       ///< the first SIGINT or SIGTERM saves the runs under way and ends
  SweepObserver* observer = nullptr;
};

struct SweepOutcome {
  Results results;
  int failed = 0;
  bool interrupted = false;
};

/// Runs what is not done yet. results.json is replaced after every run that starts or ends, and runs that it lists as
/// done are not repeated. ConfigError before anything is changed if the folder is not one to go on with (resumption.h).
/// A run that fails is recorded and the others go on. The same results, bit for bit, for any number of jobs
/// and threads.
SweepOutcome run_sweep(const Experiment& experiment, const std::vector<RunPlan>& plans, const SweepOptions& options);

}  // namespace bough::runner
