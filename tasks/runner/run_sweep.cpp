#include "tasks/runner/run_sweep.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/core/parallel.h"
#include "bough/graph/plugin.h"
#include "bough/ops/matmul.h"
#include "src/core/files.h"
#include "tasks/machine.h"
#include "tasks/registry.h"
#include "tasks/runner/interrupt.h"
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

class Sweep {
 public:
  Sweep(const Experiment& experiment, const SweepOptions& options);

  SweepOutcome run(const std::vector<RunPlan>& plans);

 private:
  std::vector<const RunPlan*> pending(const std::vector<RunPlan>& plans);
  void run_here(const std::vector<const RunPlan*>& plans);
  void run_side_by_side(std::vector<const RunPlan*> plans);
  void on_event(const RunPlan& plan, WorkerProcess& worker, bool& has_result);
  json worker_request(const RunPlan& plan) const;
  void note_start(const RunPlan& plan);
  void note_result(const RunResult& result);
  RunResult failed(const RunPlan& plan, const std::string& error) const;
  void put(const RunResult& result);
  std::string folder_of(const std::string& run) const { return (fs::path(options_.folder) / "runs" / run).string(); }
  bool should_stop() { return (options_.handle_signals && interrupted()) || observer_.should_stop(); }
  void save_experiment() const;
  void save() const { save_results((fs::path(options_.folder) / "results.json").string(), outcome_.results); }

  const Experiment& experiment_;
  const SweepOptions& options_;
  FolderLock lock_;
  SweepObserver silent_;
  SweepObserver& observer_;
  SweepOutcome outcome_;
};

Sweep::Sweep(const Experiment& experiment, const SweepOptions& options)
    : experiment_(experiment),
      options_(options),
      lock_(created(options.folder)),
      observer_(options.observer == nullptr ? silent_ : *options.observer) {
  const std::string path = (fs::path(options.folder) / "results.json").string();
  if (fs::exists(path)) outcome_.results = load_results(path);
  for (const PlannedRun& run : experiment.runs) {
    const RunResult* before = outcome_.results.find(run.name);
    if (before == nullptr) continue;
    const std::string difference = first_difference(completed_config(before->config), run.config);
    if (difference.empty()) continue;
    throw ConfigError("run", fmt::format("'{}' holds the run '{}' with another {}; choose another --out",
                                         options.folder, run.name, difference));
  }
  Results& results = outcome_.results;
  results.name = experiment.name;
  results.description = experiment.description;
  results.experiment = experiment.source;
  results.host = describe_host();
  results.command = options.command;
  results.metric = experiment.task->metric();
  results.bounds = experiment.task->bounds(experiment.runs.front().checked);
}

std::vector<const RunPlan*> Sweep::pending(const std::vector<RunPlan>& plans) {
  std::vector<const RunPlan*> result;
  for (const RunPlan& plan : plans) {
    const RunResult* before = outcome_.results.find(plan.run->name);
    if (before != nullptr && before->status == RunStatus::done) {
      observer_.on_result(*before, true);
    } else if (!plan.error.empty()) {
      note_result(failed(plan, plan.error));
    } else {
      result.push_back(&plan);
    }
  }
  return result;
}

SweepOutcome Sweep::run(const std::vector<RunPlan>& plans) {
  std::optional<InterruptGuard> guard;
  if (options_.handle_signals) guard.emplace();
  save_experiment();
  save();

  const std::vector<const RunPlan*> left = pending(plans);
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
  for (const json& line : worker.read_lines()) {
    if (line.contains("progress")) observer_.on_progress(plan.run->name, run_progress_from(line["progress"]));
    if (line.contains("result")) {
      has_result = true;
      note_result(run_result_from(line["result"]));
    }
  }
}

json Sweep::worker_request(const RunPlan& plan) const {
  std::vector<std::string> plugins = options_.plugins;
  plugins.insert(plugins.end(), experiment_.plugins.begin(), experiment_.plugins.end());
  return {{"run", plan.run->name},
          {"settings", plan.run->settings},
          {"config", plan.run->config},
          {"folder", folder_of(plan.run->name)},
          {"resume", options_.resume},
          {"threads", std::max(1, num_threads() / options_.jobs)},
          {"data_folders", plan.run->checked.data_folders},
          {"device", bough::to_string(plan.run->checked.device)},
          {"tf32", tf32_products()},
          {"plugins", plugins}};
}

RunResult Sweep::failed(const RunPlan& plan, const std::string& error) const {
  return {.name = plan.run->name,
          .settings = plan.run->settings,
          .config = plan.run->config,
          .status = RunStatus::failed,
          .error = error,
          .facts = plan.facts};
}

void Sweep::put(const RunResult& result) {
  RunResult* known = outcome_.results.find(result.name);
  if (known == nullptr) known = &outcome_.results.runs.emplace_back();
  *known = result;
  // Workers know the solved graph only.
  const auto planned = std::ranges::find(experiment_.runs, result.name, &PlannedRun::name);
  if (planned != experiment_.runs.end()) known->choice = planned->choice;
  save();
}

void Sweep::note_start(const RunPlan& plan) {
  if (options_.resume && outcome_.results.find(plan.run->name) != nullptr) return;
  put({.name = plan.run->name, .settings = plan.run->settings, .config = plan.run->config, .facts = plan.facts});
}

void Sweep::note_result(const RunResult& result) {
  if (result.status == RunStatus::failed) ++outcome_.failed;
  put(result);
  observer_.on_result(result, false);
}

}  // namespace

SweepOutcome run_sweep(const Experiment& experiment, const std::vector<RunPlan>& plans, const SweepOptions& options) {
  return Sweep(experiment, options).run(plans);
}

int serve_worker() {
  const InterruptGuard guard;
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const json request = parse_json(text, "worker request");
  set_num_threads(request.at("threads"));
  set_tf32_products(request.at("tf32"));
  for (const json& library : request.at("plugins")) load_plugin(library.get<std::string>());
  const json& config = request.at("config");
  const PlannedRun run{.name = request.at("run"),
                       .config = config,
                       .settings = request.at("settings"),
                       .checked = settings_of(config, request.at("data_folders"),
                                              parse_device(request.at("device").get<std::string>()))};
  const auto say = [](const char* what, const auto& value) {
    const std::string line =
        nlohmann::ordered_json{{what, value}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  };
  const RunResult result =
      train_run({.task = &tasks::task_named(config.at("task").at("kind")),
                 .run = &run,
                 .folder = request.at("folder"),
                 .resume = request.at("resume"),
                 .should_stop = interrupted,
                 .on_progress = [&](const RunProgress& progress) { say("progress", to_json(progress)); }});
  say("result", to_json(result));
  return result.status == RunStatus::failed ? 1 : 0;
}

}  // namespace bough::runner
