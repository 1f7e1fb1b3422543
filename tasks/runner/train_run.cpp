#include "tasks/runner/train_run.h"

#include <fmt/format.h>

#include <filesystem>

#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "tasks/recorded_plugins.h"
#include "tasks/runner/resumption.h"

namespace bough::runner {
namespace {

using nlohmann::json;

training::LoopRequest loop_request(const RunRequest& request, std::int64_t steps_per_epoch) {
  const PlannedRun& run = *request.run;
  const auto require_resumable = [&run, &request, steps_per_epoch](const json& saved, std::int64_t steps_done) {
    const std::string reason = why_not_resumable({saved, steps_done}, run, *request.task, steps_per_epoch);
    if (reason.empty()) return;
    throw ConfigError("resume",
                      fmt::format("the checkpoint in '{}' is not one of this run: it {}; choose another --out",
                                  request.folder, reason));
  };
  return {.name = run.name,
          .config = run.config,
          .notes = {{tasks::plugins_note, json(tasks::plugins_of(run.config.at("graph"))).dump()}},
          .train = run.checked.train,
          .metric = request.task->metric(),
          .device = run.checked.device,
          .folder = request.folder,
          .resume = request.resume,
          .check_saved_run = require_resumable,
          .should_stop = request.should_stop,
          .on_progress = request.on_progress};
}

void take_over(const training::TrainingOutcome& outcome, RunResult& result) {
  result.steps_done = outcome.steps_done;
  result.metrics = outcome.metrics;
  result.last_metrics = outcome.last_metrics;
  result.best_step = outcome.best_step;
  result.curve = outcome.curve;
  result.train_seconds = outcome.train_seconds;
  result.tokens_per_second = outcome.tokens_per_second;
  result.peak_memory_bytes = outcome.peak_memory_bytes;
  result.machines = outcome.machines;
  if (outcome.processor) result.waited_share = outcome.processor->waited_share();
  if (outcome.finished) result.status = RunStatus::done;
}

}  // namespace

RunResult train_run(const RunRequest& request) {
  RunResult result{.name = request.run->name, .settings = request.run->settings, .config = request.run->config};
  std::unique_ptr<tasks::TrainingRun> run;
  std::optional<training::TrainingLoop> loop;
  try {
    reset_peak_memory(request.run->checked.device);
    std::filesystem::create_directories(request.folder);
    run = request.task->start(request.run->checked);
    result.facts = run->facts();
    loop.emplace(*run, loop_request(request, run->steps_per_epoch()));
    loop->run();
    take_over(loop->outcome(), result);
  } catch (const std::exception& error) {
    if (loop) take_over(loop->outcome(), result);
    result.status = RunStatus::failed;
    result.error = error.what();
  }
  return result;
}

}  // namespace bough::runner
