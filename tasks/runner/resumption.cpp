#include "tasks/runner/resumption.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "tasks/training/continuation.h"

namespace bough::runner {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* elsewhere = "choose another --out (RunOptions::folder)";

/// What decides the result of a run, apart from its length.
json deciding(json config) {
  if (config.contains("train")) config["train"] = training::without_length(training::without_logging(config["train"]));
  return config;
}

/// The value at a dotted path; null if there is none.
json value_at(const json& config, const std::string& path) {
  const json* place = &config;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const auto found = place->is_object() ? place->find(path.substr(begin, end - begin)) : place->end();
    if (found == place->end()) return nullptr;
    place = &*found;
    begin = end + 1;
  }
  return *place;
}

/// "a, b, c and 4 more".
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 3;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + std::min<std::ptrdiff_t>(shown, std::ssize(names)));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

bool has_begun(const std::string& folder, const RunResult& run) {
  const fs::path place = fs::path(folder) / "runs" / run.name;
  return fs::exists(place / "log.jsonl") || fs::exists(place / training::checkpoint_file);
}

/// Files that a run would replace must be those of a run before.
void require_own_files(const std::string& folder, const Experiment& experiment, const Results* before) {
  const fs::path description = fs::path(folder) / "experiment.json", runs = fs::path(folder) / "runs";
  if (fs::exists(description)) {
    json found;
    try {
      found = read_json_file(description.string());
    } catch (const Error&) {
      // What is no JSON is none of ours.
    }
    if (found != experiment.source && (before == nullptr || found != before->experiment)) {
      throw ConfigError("run", fmt::format("'{}' is there and is not the experiment of {}; {}", description.string(),
                                           before == nullptr ? "this run" : "the results beside it", elsewhere));
    }
  }
  if (before == nullptr && fs::exists(runs) && !fs::is_empty(runs)) {
    throw ConfigError("run", fmt::format("'{}' is there without the results.json that bough run writes; {}",
                                         runs.string(), elsewhere));
  }
}

void require_same_experiment(const std::string& folder, const Experiment& experiment, const Results& before,
                             bool resume) {
  if (before.name != experiment.name) {
    throw ConfigError("run", fmt::format("'{}' holds the experiment '{}', not '{}'; {}", folder, before.name,
                                         experiment.name, elsewhere));
  }
  std::vector<std::string> others;
  for (const RunResult& run : before.runs) {
    if (std::ranges::find(experiment.runs, run.name, &PlannedRun::name) == experiment.runs.end()) {
      others.push_back(run.name);
    }
  }
  const bool none_in_common = others.size() == before.runs.size();
  if (others.empty() || (resume && !none_in_common)) return;
  throw ConfigError("run",
                    fmt::format("'{}' holds runs that this experiment does not have ({}); {}, and bough compare shows "
                                "both in one report",
                                folder, list_of(others), elsewhere));
}

void require_resumable_runs(const std::string& folder, const Experiment& experiment, const std::vector<RunPlan>& plans,
                            Results& before) {
  for (const RunPlan& plan : plans) {
    const RunResult* run = before.find(plan.run->name);
    if (run == nullptr) continue;
    const std::string reason =
        why_not_resumable({run->config, run->steps_done}, *plan.run, *experiment.task, plan.steps_per_epoch);
    if (reason.empty()) continue;
    throw ConfigError("run", fmt::format("'{}' holds the run '{}', which cannot go on as this one: it {}; {}", folder,
                                         run->name, reason, elsewhere));
  }
}

/// Runs that are not planned now must have been made from the same files too: they stand in one report.
void require_same_inputs(const std::string& folder, const std::vector<RunPlan>& plans, Results& before) {
  for (const RunPlan& plan : plans) {
    if (!plan.error.empty()) continue;
    for (const RunResult& run : before.runs) {
      RunInputs now = plan.inputs;
      if (run.name != plan.run->name) now.graph.clear();
      const std::string reason = why_other_inputs(run.inputs, now);
      if (reason.empty()) continue;
      throw ConfigError("run", fmt::format("'{}' holds the run '{}', which cannot stand beside what would be made now: "
                                           "it {}; {}",
                                           folder, run.name, reason, elsewhere));
    }
  }
}

void require_nothing_to_resume(const std::string& folder, const Experiment& experiment, Results& before) {
  std::vector<std::string> unfinished, shorter;
  for (const PlannedRun& planned : experiment.runs) {
    const RunResult* run = before.find(planned.name);
    if (run == nullptr) continue;
    if (run->status != RunStatus::done) {
      if (has_begun(folder, *run)) unfinished.push_back(run->name);
    } else if (!has_planned_length(*run, planned)) {
      shorter.push_back(run->name);
    }
  }
  const auto refuse = [&](const std::vector<std::string>& names, const char* state) {
    if (names.empty()) return;
    throw ConfigError(
        "run",
        fmt::format("'{}' holds {} run{} {} ({}); --resume (RunOptions::resume) goes on with {}, or {} to start anew",
                    folder, names.size(), names.size() == 1 ? "" : "s", state, list_of(names),
                    names.size() == 1 ? "it" : "them", elsewhere));
  };
  refuse(unfinished, "begun and not finished");
  refuse(shorter, "of another number of steps");
}

}  // namespace

std::string why_not_resumable(const RunBefore& before, const PlannedRun& run, const tasks::Task& task,
                              std::int64_t steps_per_epoch) {
  const json old_config = completed_config(before.config);
  const json old_deciding = deciding(old_config), new_deciding = deciding(run.config);
  const std::string difference = first_difference(old_deciding, new_deciding);
  if (!difference.empty()) {
    return fmt::format("was made with {} = {}, not {}", difference, json_excerpt(value_at(old_deciding, difference)),
                       json_excerpt(value_at(new_deciding, difference)));
  }
  if (training::same_length(old_config["train"], run.config["train"])) return "";
  std::string reason = training::why_length_is_fixed(Settings("train", old_config["train"]), run.checked.train,
                                                     steps_per_epoch, before.steps_done);
  if (reason.empty()) reason = task.why_length_is_fixed(run.checked);
  if (reason.empty()) return "";
  const char* key = run.config["train"].value("epochs", json()).is_null() ? "steps" : "epochs";
  return fmt::format("was made with train.{} = {}, not {}, and {}", key, json_excerpt(old_config["train"][key]),
                     json_excerpt(run.config["train"][key]), reason);
}

bool has_planned_length(const RunResult& before, const PlannedRun& run) {
  return training::same_length(completed_config(before.config)["train"], run.config["train"]);
}

Results results_to_go_on_with(const std::string& folder, const Experiment& experiment,
                              const std::vector<RunPlan>& plans, bool resume) {
  const std::string path = (fs::path(folder) / "results.json").string();
  if (!fs::exists(path)) {
    require_own_files(folder, experiment, nullptr);
    return {};
  }
  Results before = load_results(path);
  require_same_experiment(folder, experiment, before, resume);
  require_resumable_runs(folder, experiment, plans, before);
  require_same_inputs(folder, plans, before);
  if (!resume) require_nothing_to_resume(folder, experiment, before);
  require_own_files(folder, experiment, &before);
  return before;
}

}  // namespace bough::runner
