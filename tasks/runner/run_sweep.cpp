#include "tasks/runner/run_sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/core/parallel.h"
#include "bough/graph/draw.h"
#include "bough/graph/graph_generator.h"
#include "bough/ops/matmul.h"
#include "src/core/files.h"
#include "tasks/machine.h"
#include "tasks/recorded_plugins.h"
#include "tasks/runner/interrupt.h"
#include "tasks/runner/resumption.h"
#include "tasks/runner/worker.h"

namespace bough::runner {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string& created(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError("run", fmt::format("the folder '{}' cannot be made: {}", folder, error.message()));
  return folder;
}

/// The graph of a short sequence; nothing for one that cannot be drawn: a pattern of one fixed length that is too long,
/// one without a causal form.
std::optional<std::string> drawn(const json& graph) {
  constexpr std::int64_t length = 64;
  try {
    const auto generator = generators().make(graph);
    return draw_matrix_svg(generator->build({.length = generator->fixed_length().value_or(length), .causal = true}),
                           {.title = describe_setting("graph", graph)});
  } catch (const std::exception&) {
    return {};
  }
}

/// Whole paths of these and of those that earlier runs in the folder of results have added, each once, without that
/// folder itself: what holds only where the results are now is no place for data.
std::vector<std::string> whole_data_folders(std::vector<std::string> folders, const std::vector<std::string>& before,
                                            const std::string& folder_of_results) {
  const auto whole = [](const std::string& folder) {
    const std::string path = fs::absolute(folder).lexically_normal().string();
    return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  };
  folders.insert(folders.end(), before.begin(), before.end());
  std::vector<std::string> result;
  for (const std::string& folder : folders) {
    const std::string path = whole(folder);
    if (path != whole(folder_of_results) && std::ranges::count(result, path) == 0) result.push_back(path);
  }
  return result;
}

/// What the sweep sets of a run's task, "task.format sst5"; its name if that is nothing.
std::string data_of(const PlannedRun& run) {
  std::vector<std::string> texts;
  for (const auto& [path, value] : run.settings.items()) {
    if (!path.starts_with("task")) continue;
    texts.push_back(fmt::format("{} {}", path, value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return texts.empty() ? run.name : fmt::format("{}", fmt::join(texts, ", "));
}

/// Adds the bounds of a run that are not there yet. Those that are not the same for all runs, as of data that the sweep
/// sets, are named with what sets them.
void add_bounds(const RunPlan& plan, const std::vector<RunPlan>& plans, std::vector<tasks::Bound>& bounds) {
  for (tasks::Bound bound : plan.bounds) {
    const bool differs = std::ranges::any_of(plans, [&](const RunPlan& other) {
      const auto same = std::ranges::find(other.bounds, bound.name, &tasks::Bound::name);
      return same != other.bounds.end() && same->value != bound.value;
    });
    if (differs) bound.name += ", " + data_of(*plan.run);
    if (std::ranges::find(bounds, bound.name, &tasks::Bound::name) == bounds.end()) bounds.push_back(std::move(bound));
  }
}

class Sweep {
 public:
  Sweep(const Experiment& experiment, const std::vector<RunPlan>& plans, const SweepOptions& options);

  SweepOutcome run();

 private:
  std::vector<const RunPlan*> pending();
  void run_here(const std::vector<const RunPlan*>& plans);
  void run_side_by_side(std::vector<const RunPlan*> plans);
  void on_event(const RunPlan& plan, WorkerProcess& worker, bool& has_result);
  WorkerRequest worker_request(const RunPlan& plan) const;
  void note_start(const RunPlan& plan);
  void note_result(const RunResult& result);
  RunResult failed(const RunPlan& plan, const std::string& error) const;
  void put(RunResult result);
  std::string folder_of(const std::string& run) const { return (fs::path(options_.folder) / "runs" / run).string(); }
  bool should_stop() { return (options_.handle_signals && interrupted()) || observer_.should_stop(); }
  void save_experiment() const;
  void save() const { save_results((fs::path(options_.folder) / "results.json").string(), outcome_.results); }

  const Experiment& experiment_;
  const std::vector<RunPlan>& plans_;
  const SweepOptions& options_;
  FolderLock lock_;
  SweepObserver silent_;
  SweepObserver& observer_;
  SweepOutcome outcome_;
};

Sweep::Sweep(const Experiment& experiment, const std::vector<RunPlan>& plans, const SweepOptions& options)
    : experiment_(experiment),
      plans_(plans),
      options_(options),
      lock_(created(options.folder)),
      observer_(options.observer == nullptr ? silent_ : *options.observer) {
  outcome_.results = results_to_go_on_with(options.folder, experiment, plans, options.resume);
  Results& results = outcome_.results;
  results.name = experiment.name;
  results.description = experiment.description;
  results.experiment = experiment.source;
  results.host = describe_host();
  results.command = options.command;
  results.data_folders =
      whole_data_folders(experiment.runs.front().checked.data_folders, results.data_folders, options.folder);
  results.metric = experiment.task->metric();
  results.further_metrics = experiment.task->further_metrics();
  results.bounds = experiment.task->bounds(experiment.runs.front().checked);
  for (const RunPlan& plan : plans) add_bounds(plan, plans, results.bounds);
  results.references = experiment.references;
}

std::vector<const RunPlan*> Sweep::pending() {
  std::vector<const RunPlan*> result;
  for (const RunPlan& plan : plans_) {
    const RunResult* before = outcome_.results.find(plan.run->name);
    if (before != nullptr && before->status == RunStatus::done && has_planned_length(*before, *plan.run)) {
      observer_.on_result(*before, true);
    } else if (!plan.error.empty()) {
      note_result(failed(plan, plan.error));
    } else {
      result.push_back(&plan);
    }
  }
  return result;
}

SweepOutcome Sweep::run() {
  std::optional<InterruptGuard> guard;
  if (options_.handle_signals) guard.emplace();
  save_experiment();
  save();

  const std::vector<const RunPlan*> left = pending();
  options_.jobs > 1 ? run_side_by_side(left) : run_here(left);
  outcome_.interrupted = should_stop();
  return std::move(outcome_);
}

void Sweep::save_experiment() const {
  const std::string path = (fs::path(options_.folder) / "experiment.json").string();
  if (fs::exists(path) && read_json_file(path) == experiment_.source) return;  // as someone has laid it out
  const std::string source = experiment_.source.dump(2) + "\n";
  AtomicFileWriter writer(path);
  writer.write(source.data(), source.size());
  writer.commit();
}

void Sweep::run_here(const std::vector<const RunPlan*>& plans) {
  for (const RunPlan* plan : plans) {
    if (should_stop()) return;
    note_start(*plan);
    note_result(train_run(
        {.task = experiment_.task,
         .run = plan->run,
         .folder = folder_of(plan->run->name),
         .resume = options_.resume,
         .tensorboard = options_.tensorboard,
         .inputs = plan->inputs,
         .should_stop = [this] { return should_stop(); },
         .on_progress = [&](const RunProgress& progress) { observer_.on_progress(plan->run->name, progress); }}));
  }
}

void Sweep::run_side_by_side(std::vector<const RunPlan*> plans) {
  struct Active {
    const RunPlan* plan;
    std::unique_ptr<WorkerProcess> worker;
    bool has_result = false;
  };
  // The longest first, so that no long run is left alone at the end.
  std::ranges::stable_sort(plans, std::greater<>(), &RunPlan::seconds);
  std::vector<Active> active;
  auto next = plans.begin();
  while (true) {
    while (!should_stop() && next != plans.end() && std::ssize(active) < options_.jobs) {
      const RunPlan* plan = *next++;
      note_start(*plan);
      active.push_back({plan, std::make_unique<WorkerProcess>(options_.worker_program, worker_request(*plan))});
    }
    if (active.empty()) return;

    std::vector<pollfd> files;
    for (const Active& one : active) files.push_back({.fd = one.worker->output(), .events = POLLIN, .revents = 0});
    ::poll(files.data(), files.size(), 1000);
    if (should_stop()) {
      for (Active& one : active) one.worker->interrupt();
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents != 0) on_event(*active[i].plan, *active[i].worker, active[i].has_result);
    }
    for (Active& one : active) {
      if (!one.worker->finished()) continue;
      const std::string reason = one.worker->wait_for_end();
      // A worker that was interrupted before it started training has no result and has not failed: its run stays open.
      if (!one.has_result && !one.worker->told_to_end()) note_result(failed(*one.plan, reason));
    }
    std::erase_if(active, [](const Active& one) { return one.worker->finished(); });
  }
}

void Sweep::on_event(const RunPlan& plan, WorkerProcess& worker, bool& has_result) {
  for (const WorkerMessage& message : worker.read_messages()) {
    if (const auto* progress = std::get_if<RunProgress>(&message)) observer_.on_progress(plan.run->name, *progress);
    if (const auto* result = std::get_if<RunResult>(&message)) {
      has_result = true;
      note_result(*result);
    }
  }
}

WorkerRequest Sweep::worker_request(const RunPlan& plan) const {
  return {.name = plan.run->name,
          .settings = plan.run->settings,
          .config = plan.run->config,
          .folder = folder_of(plan.run->name),
          .resume = options_.resume,
          .tensorboard = options_.tensorboard,
          .threads = std::max(1, num_threads() / options_.jobs),
          .data_folders = plan.run->checked.data_folders,
          .device = plan.run->checked.device,
          .tf32 = tf32_products(),
          .plugins = tasks::loaded_plugins(),
          .inputs = plan.inputs};
}

RunResult Sweep::failed(const RunPlan& plan, const std::string& error) const {
  return {.name = plan.run->name,
          .settings = plan.run->settings,
          .config = plan.run->config,
          .status = RunStatus::failed,
          .error = error,
          .facts = plan.facts,
          .inputs = plan.inputs};
}

void Sweep::put(RunResult result) {
  const json& graph = result.config.at("graph");
  result.plugins = tasks::plugins_of(graph);
  if (outcome_.results.picture_of(graph) == nullptr) {
    if (const auto svg = drawn(graph)) outcome_.results.pictures.push_back({graph, *svg});
  }
  RunResult* known = outcome_.results.find(result.name);
  if (known == nullptr) known = &outcome_.results.runs.emplace_back();
  *known = result;
  // Workers know the solved graph and the values of their own settings only.
  if (const auto planned = std::ranges::find(experiment_.runs, result.name, &PlannedRun::name);
      planned != experiment_.runs.end()) {
    known->choice = planned->choice;
    known->following = planned->following;
  }
  outcome_.results.changed_at = time_in_words(std::chrono::system_clock::now());
  save();
}

void Sweep::note_start(const RunPlan& plan) {
  if (RunResult* before = outcome_.results.find(plan.run->name); options_.resume && before != nullptr) {
    // It may be one that was done and takes more steps now.
    RunResult resumed = *before;
    resumed.settings = plan.run->settings;
    resumed.config = plan.run->config;
    resumed.inputs = plan.inputs;
    resumed.status = RunStatus::running;
    resumed.error.clear();
    resumed.metrics = resumed.last_metrics = json::object();
    resumed.best_step.reset();
    resumed.remark.clear();
    return put(std::move(resumed));
  }
  put({.name = plan.run->name,
       .settings = plan.run->settings,
       .config = plan.run->config,
       .facts = plan.facts,
       .inputs = plan.inputs});
}

void Sweep::note_result(const RunResult& result) {
  if (result.status == RunStatus::failed) ++outcome_.failed;
  put(result);
  observer_.on_result(result, false);
}

}  // namespace

SweepOutcome run_sweep(const Experiment& experiment, const std::vector<RunPlan>& plans, const SweepOptions& options) {
  return Sweep(experiment, plans, options).run();
}

}  // namespace bough::runner
