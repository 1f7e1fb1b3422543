#pragma once

#include <string>
#include <vector>

#include "tasks/runner/experiment.h"
#include "tasks/runner/run_inputs.h"

namespace bough::runner {

/// What is known of a run before it starts, or why it cannot.
struct RunPlan {
  const PlannedRun* run = nullptr;
  tasks::RunFacts facts = {};
  RunInputs inputs = {};
  std::string error = {};
  std::vector<std::string> remarks = {};  ///< about its data
  std::vector<tasks::Bound> bounds = {};  ///< that follow from its data
  std::int64_t steps_per_epoch = 1;
  double seconds = 0;  ///< about, on one core
};

/// Reads the data, builds graph and model of each run and drops them again: what can go wrong before the first step
/// goes wrong here. Runs that differ in their seed alone are tried once. IoError, one for all runs, that names every
/// data file that cannot be read; anything else concerns its run alone. Times are estimated from the operations of a
/// step and the speed of a small product measured now; expect them to be right within a factor of two.
std::vector<RunPlan> plan_runs(const Experiment& experiment);

/// How many runs fit side by side: as many as asked for, else one a thread, as long as the memory lasts.
int choose_jobs(const std::vector<RunPlan>& plans, std::int64_t wanted, int threads);

/// Seconds of all runs, side by side.
double total_seconds(const std::vector<RunPlan>& plans, int jobs);

}  // namespace bough::runner
