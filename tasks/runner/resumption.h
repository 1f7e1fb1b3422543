#pragma once

#include <string>

#include "tasks/runner/results.h"
#include "tasks/runner/run_plan.h"

/// What may change between the start of a run and its resumption, and what an experiment may do with a folder that
/// holds results.
namespace bough::runner {

/// How far a run has come with which configuration.
struct RunBefore {
  nlohmann::json config;
  std::int64_t steps_done = 0;
};

/// Why a run that was begun as `before` cannot go on as `run`, as the end of a sentence that begins with "it"; empty if
/// it can. How often it is logged and saved may change, and the number of steps where nothing but the end of the run
/// depends on it.
std::string why_not_resumable(const RunBefore& before, const PlannedRun& run, const tasks::Task& task,
                              std::int64_t steps_per_epoch);

/// Whether a run was meant to be as long as it is now; one that is done goes on if not.
bool has_planned_length(const RunResult& before, const PlannedRun& run);

/// The results that the folder holds; none if it holds none. ConfigError, before anything is changed, for
/// - results of another experiment: another name, runs that this one does not have (with `resume` they may be there
///   beside at least one that it has), or a run of the same name that cannot go on as the planned one;
/// - runs that were made from other data files or another graph under the same name (run_inputs.h);
/// - without `resume`: runs that have begun and are not done, or are to take more steps now;
/// - an experiment.json or a folder runs that these results did not bring.
/// IoError for a results.json that is none of ours.
Results results_to_go_on_with(const std::string& folder, const Experiment& experiment,
                              const std::vector<RunPlan>& plans, bool resume);

}  // namespace bough::runner
