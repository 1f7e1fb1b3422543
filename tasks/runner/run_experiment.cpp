#include "bough/tasks/run_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/graph/plugin.h"
#include "src/core/nearest_name.h"
#include "tasks/runner/resumption.h"
#include "tasks/runner/run_sweep.h"

namespace bough {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Where results go if they are not to stay.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "bough-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw IoError("run", fmt::format("no temporary folder '{}' can be made", path_));
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Metrics that are one number; the others stand in the document.
std::map<std::string, double> numbers_of(const json& metrics) {
  std::map<std::string, double> result;
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number()) result[name] = value.get<double>();
  }
  return result;
}

RunOutcome outcome_of(const runner::RunResult& result) {
  return {.name = result.name,
          .status = result.status,
          .error = result.error,
          .attention_degree = result.facts.attention_degree,
          .num_edges = result.facts.num_edges,
          .parameters = result.facts.parameters,
          .steps = result.steps_done,
          .metrics = numbers_of(result.metrics),
          .last_metrics = numbers_of(result.last_metrics),
          .best_step = result.best_step,
          .train_seconds = result.train_seconds,
          .tokens_per_second = result.tokens_per_second,
          .peak_memory_bytes = result.peak_memory_bytes};
}

ExperimentPlan plan_of(const runner::Experiment& experiment, const std::vector<runner::RunPlan>& plans, int jobs) {
  ExperimentPlan result{.name = experiment.name,
                        .metric = experiment.task->metric().name,
                        .runs = {},
                        .jobs = jobs,
                        .seconds = runner::total_seconds(plans, jobs)};
  for (const tasks::Metric& metric : experiment.task->further_metrics()) result.further_metrics.push_back(metric.name);
  for (const runner::RunPlan& plan : plans) {
    for (const std::string& remark : plan.remarks) {
      if (std::ranges::find(result.remarks, remark) == result.remarks.end()) result.remarks.push_back(remark);
    }
    const auto& choice = plan.run->choice;
    const std::string kind = plan.run->config.at("graph").value("kind", "");
    result.runs.push_back({.name = plan.run->name,
                           .choice = choice ? kind + ": " + to_string(*choice) : "",
                           .error = plan.error,
                           .attention_degree = plan.facts.attention_degree,
                           .num_nodes = plan.facts.num_nodes,
                           .num_edges = plan.facts.num_edges,
                           .length = plan.facts.length,
                           .parameters = plan.facts.parameters,
                           .memory_bytes = plan.facts.memory_bytes,
                           .seconds = plan.seconds});
  }
  return result;
}

int jobs_for(const runner::Experiment& experiment, const std::vector<runner::RunPlan>& plans,
             const RunOptions& options) {
  if (options.jobs < 0) throw ConfigError("run", fmt::format("jobs must be at least 0, not {}", options.jobs));
  if (options.worker_program.empty()) {
    if (options.jobs > 1) {
      throw ConfigError("run", fmt::format("{} runs side by side need a worker program", options.jobs));
    }
    return 1;
  }
  return runner::choose_jobs(plans, options.jobs > 0 ? options.jobs : experiment.jobs, num_threads());
}

/// What concerns every run is one error of the experiment.
void require_no_common_error(const std::vector<runner::RunPlan>& plans) {
  const std::string& first = plans.front().error;
  const auto same = [&](const runner::RunPlan& plan) { return plan.error == first; };
  if (!first.empty() && std::ranges::all_of(plans, same)) throw Error(first);
}

void require_one_that_can_start(const std::vector<runner::RunPlan>& plans) {
  const auto can_start = [](const runner::RunPlan& plan) { return plan.error.empty(); };
  if (std::ranges::none_of(plans, can_start)) throw Error(plans.front().error);
}

/// Passes on what a sweep tells. What the observer throws stops the sweep as should_stop does, so that the runs under
/// way are saved, and is thrown again after that; the observer is told nothing more.
class Forwarder : public runner::SweepObserver {
 public:
  explicit Forwarder(RunObserver& observer) : observer_(observer) {}
  void on_progress(const std::string& run, const RunProgress& progress) override {
    call([&] { observer_.on_progress(run, progress); });
  }
  void on_result(const runner::RunResult& result, bool was_done_before) override {
    call([&] { observer_.on_result(outcome_of(result), was_done_before); });
  }
  bool should_stop() override {
    bool stop = false;
    call([&] { stop = observer_.should_stop(); });
    return stop || thrown_ != nullptr;
  }
  void rethrow_if_any() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

 private:
  template <typename Call>
  void call(const Call& call_observer) {
    if (thrown_ != nullptr) return;
    try {
      call_observer();
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }

  RunObserver& observer_;
  std::exception_ptr thrown_;
};

/// What is resumed, or repeated from the experiment.json of its results, finds its data where it was found before:
/// last, so that folders that are given now win.
std::vector<std::string> data_folders(const RunOptions& options) {
  std::vector<std::string> folders = options.data_folders;
  const auto add_recorded = [&folders](const std::string& folder) {
    for (std::string& recorded : runner::recorded_data_folders(folder)) {
      if (std::ranges::count(folders, recorded) == 0) folders.push_back(std::move(recorded));
    }
  };
  const fs::path file = options.experiment_file;
  if (file.filename() == "experiment.json") add_recorded(file.parent_path().string());
  if (options.resume && !options.folder.empty()) add_recorded(options.folder);
  return folders;
}

}  // namespace

double RunOutcome::metric(const std::string& which) const {
  if (const auto found = metrics.find(which); found != metrics.end()) return found->second;
  const std::string run = "run " + name;
  if (status == RunStatus::failed) throw IndexError(run, fmt::format("has no '{}', it failed: {}", which, error));
  if (status == RunStatus::running) {
    throw IndexError(run,
                     fmt::format("has no '{}', it was stopped at step {}; `resume` goes on with it", which, steps));
  }
  std::vector<std::string> known;
  for (const auto& [other, value] : metrics) known.push_back(other);
  throw IndexError(run, fmt::format("has no metric '{}'{}; known are {}", which, did_you_mean(which, known),
                                    fmt::join(known, ", ")));
}

ExperimentResults run_experiment(const json& experiment, const RunOptions& options) {
  for (const std::string& library : options.plugins) load_plugin(library);
  const runner::Experiment checked = runner::read_experiment(experiment, {.overrides = options.overrides,
                                                                          .data_folders = data_folders(options),
                                                                          .device = options.device,
                                                                          .file = options.experiment_file});
  const std::vector<runner::RunPlan> plans = runner::plan_runs(checked);
  require_no_common_error(plans);
  // The folder is looked at again once it is locked; here it is before the observer is told that results go there.
  if (!options.folder.empty()) runner::results_to_go_on_with(options.folder, checked, plans, options.resume);
  const int jobs = jobs_for(checked, plans, options);
  RunObserver silent;
  RunObserver& observer = options.observer == nullptr ? silent : *options.observer;
  observer.on_plan(plan_of(checked, plans, jobs));
  if (options.plan_only) return {};
  require_one_that_can_start(plans);

  std::optional<TemporaryFolder> temporary;
  if (options.folder.empty()) temporary.emplace();
  Forwarder forwarder(observer);
  const runner::SweepOutcome outcome = runner::run_sweep(checked, plans,
                                                         {.folder = temporary ? temporary->path() : options.folder,
                                                          .resume = options.resume,
                                                          .tensorboard = options.tensorboard,
                                                          .jobs = jobs,
                                                          .worker_program = options.worker_program,
                                                          .command = options.command,
                                                          .handle_signals = options.handle_signals,
                                                          .observer = &forwarder});
  forwarder.rethrow_if_any();
  ExperimentResults results{.runs = {},
                            .failed = outcome.failed,
                            .interrupted = outcome.interrupted,
                            .document = std::make_shared<const json>(runner::to_json(outcome.results))};
  for (const runner::RunResult& run : outcome.results.runs) results.runs.push_back(outcome_of(run));
  return results;
}

}  // namespace bough
