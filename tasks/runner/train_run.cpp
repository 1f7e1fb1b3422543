#include "tasks/runner/train_run.h"

#include <fmt/format.h>

#include <filesystem>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/core/memory.h"
#include "tasks/recorded_plugins.h"
#include "tasks/runner/resumption.h"

namespace bough::runner {
namespace {

using nlohmann::json;

/// Checkpoints of earlier versions do not say what they were made from.
void require_inputs_of_checkpoint(const RunRequest& request, const std::map<std::string, std::string>& notes) {
  const auto note = notes.find(inputs_note);
  if (note == notes.end()) return;
  const std::string reason = why_other_inputs(run_inputs_from(parse_json(note->second, "checkpoint")), request.inputs);
  if (reason.empty()) return;
  throw ConfigError("resume", fmt::format("the checkpoint in '{}' cannot go on: it {}; choose another --out "
                                          "(RunOptions::folder)",
                                          request.folder, reason));
}

training::LoopRequest loop_request(const RunRequest& request, std::int64_t steps_per_epoch) {
  const PlannedRun& run = *request.run;
  const auto require_resumable = [&run, &request, steps_per_epoch](const json& saved, std::int64_t steps_done) {
    const std::string reason = why_not_resumable({saved, steps_done}, run, *request.task, steps_per_epoch);
    if (reason.empty()) return;
    throw ConfigError("resume",
                      fmt::format("the checkpoint in '{}' is not one of this run: it {}; choose another --out "
                                  "(RunOptions::folder)",
                                  request.folder, reason));
  };
  return {.name = run.name,
          .config = run.config,
          .notes = {{tasks::plugins_note, json(tasks::plugins_of(run.config.at("graph"))).dump()},
                    {inputs_note, to_json(request.inputs).dump()}},
          .train = run.checked.train,
          .metric = request.task->metric(),
          .selection = request.task->selection(run.checked),
          .device = run.checked.device,
          .folder = request.folder,
          .resume = request.resume,
          .tensorboard = request.tensorboard,
          .own_process = request.own_process,
          .check_saved_run = require_resumable,
          .should_stop = request.should_stop,
          .on_progress = request.on_progress,
          .check_saved_notes = [&request](const auto& notes) { require_inputs_of_checkpoint(request, notes); }};
}

void take_over(const training::TrainingOutcome& outcome, RunResult& result) {
  result.steps_done = outcome.steps_done;
  result.metrics = outcome.metrics;
  result.last_metrics = outcome.last_metrics;
  result.best_step = outcome.best_step;
  result.remark = outcome.remark;
  result.curve = outcome.curve;
  result.train_seconds = outcome.train_seconds;
  result.tokens_per_second = outcome.tokens_per_second;
  result.peak_memory_bytes = outcome.peak_memory_bytes;
  result.machines = outcome.machines;
  if (outcome.processor) result.waited_share = outcome.processor->waited_share();
  if (outcome.machine_time) result.other_share = outcome.machine_time->other_share();
  if (outcome.finished) result.status = RunStatus::done;
}

/// A model that is worse than guessing has no score to compare with others.
void require_not_diverged(const RunResult& result, const tasks::Metric& metric) {
  const double score = metric_of(result, metric.name);
  const bool hopeless = metric.lower_is_better ? score > metric.hopeless : score < metric.hopeless;
  if (result.status != RunStatus::done || !hopeless) return;
  throw Error("train", fmt::format("it has diverged: {} is {:.4g} at step {}, where it was best, far worse than "
                                   "guessing; a lower learning rate or a longer warm-up may help",
                                   metric.name, score, result.best_step.value_or(result.steps_done)));
}

}  // namespace

RunResult train_run(const RunRequest& request) {
  RunResult result{.name = request.run->name,
                   .settings = request.run->settings,
                   .config = request.run->config,
                   .inputs = request.inputs};
  std::unique_ptr<tasks::TrainingRun> run;
  std::optional<training::TrainingLoop> loop;
  try {
    const std::string selection = request.task->selection(request.run->checked).name;
    if (selection != request.task->metric().name) result.best_by = selection;
    reset_peak_memory(request.run->checked.device);
    std::filesystem::create_directories(request.folder);
    tasks::RunSettings settings = request.run->checked;
    const std::string checkpoint = (std::filesystem::path(request.folder) / training::checkpoint_file).string();
    if (request.resume && std::filesystem::exists(checkpoint)) settings.checkpoint = checkpoint;
    run = request.task->start(settings);
    result.facts = run->facts();
    loop.emplace(*run, loop_request(request, run->steps_per_epoch()));
    loop->run();
    take_over(loop->outcome(), result);
    require_not_diverged(result, request.task->metric());
  } catch (const std::exception& error) {
    if (loop) take_over(loop->outcome(), result);
    result.status = RunStatus::failed;
    result.error = error.what();
  }
  return result;
}

}  // namespace bough::runner
