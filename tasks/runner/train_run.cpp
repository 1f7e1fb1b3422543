#include "tasks/runner/train_run.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/core/memory.h"
#include "tasks/runner/interrupt.h"
#include "tasks/runner/run_log.h"

namespace bough::runner {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr const char* state_note = "bough:run";

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A model whose weights have overflowed can still have had a finite loss in its last step.
json finite(json metrics, std::int64_t step) {
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number() && !std::isfinite(value.get<double>())) {
      throw Error("train", fmt::format("{} after step {} is {}; a lower learning rate may help", name, step,
                                       value.get<double>()));
    }
  }
  return metrics;
}

/// The loop around the steps: what is written where and when.
class Training {
 public:
  explicit Training(const RunRequest& request)
      : request_(request),
        result_{.name = request.run->name, .settings = request.run->settings, .config = request.run->config},
        steps_(request.run->checked.train.integer("steps")),
        evaluate_every_(request.run->checked.train.optional_integer("evaluate_every")
                            .value_or(std::max<std::int64_t>(1, steps_ / 10))),
        log_every_(
            request.run->checked.train.optional_integer("log_every").value_or(std::max<std::int64_t>(1, steps_ / 100))),
        checkpoint_seconds_(request.run->checked.train.number("checkpoint_seconds")),
        checkpoint_((std::filesystem::path(request.folder) / checkpoint_file).string()),
        device_(request.run->checked.device) {}

  RunResult run() {
    try {
      train();
    } catch (const std::exception& error) {
      result_.status = RunStatus::failed;
      result_.error = error.what();
    }
    return result_;
  }

 private:
  void train();
  void open_log(bool resumed);
  bool evaluation_due(std::int64_t step) const { return step % evaluate_every_ == 0 || step == steps_; }
  bool record_due(std::int64_t step) const { return evaluation_due(step) || step % log_every_ == 0; }
  void add_losses(std::int64_t last_step, const std::vector<double>& losses);
  void note_step();
  void save();
  void restore();
  void report_progress(bool now);

  const RunRequest& request_;
  RunResult result_;
  std::unique_ptr<tasks::TrainingRun> run_;
  std::unique_ptr<RunLog> log_;
  std::int64_t steps_, evaluate_every_, log_every_;
  double checkpoint_seconds_;
  std::string checkpoint_;
  Device device_;
  double loss_sum_ = 0;  // since the last record
  std::int64_t loss_count_ = 0;
  double last_loss_ = 0, metric_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t steps_here_ = 0;
  double seconds_here_ = 0, evaluation_seconds_ = 0;
  Clock::time_point last_save_ = Clock::now(), last_report_{};
};

void Training::train() {
  reset_peak_memory(device_);
  std::filesystem::create_directories(request_.folder);
  run_ = request_.task->start(request_.run->checked);
  result_.facts = run_->facts();
  const bool resumed = request_.resume && std::filesystem::exists(checkpoint_);
  if (resumed) restore();
  open_log(resumed);

  while (result_.steps_done < steps_ && !interrupted()) {
    const std::int64_t step = result_.steps_done + 1;
    const bool save_now = seconds_since(last_save_) >= checkpoint_seconds_;
    const auto start = Clock::now();
    run_->step(step);
    // The first one too, so that progress has something to tell.
    const bool all = save_now || record_due(step) || steps_here_ == 0;
    add_losses(step, run_->losses(all ? tasks::TrainingRun::Losses::all : tasks::TrainingRun::Losses::known));
    const double seconds = seconds_since(start);
    result_.steps_done = step;
    result_.train_seconds += seconds;
    seconds_here_ += seconds;
    ++steps_here_;
    note_step();
    report_progress(step == steps_);
    if (save_now) save();
  }
  add_losses(result_.steps_done, run_->losses(tasks::TrainingRun::Losses::all));
  result_.peak_memory_bytes = std::max(result_.peak_memory_bytes, memory_statistics(device_).bytes_peak);
  if (result_.steps_done < steps_) return save();

  json metrics = run_->validate();
  metrics.update(run_->test());
  result_.metrics = finite(std::move(metrics), steps_);
  result_.status = RunStatus::done;
  save();
  log_->write({{"step", steps_}, {"done", true}, {"metrics", result_.metrics}, {"seconds", result_.train_seconds}});
}

void Training::open_log(bool resumed) {
  const std::string path = (std::filesystem::path(request_.folder) / "log.jsonl").string();
  log_ = std::make_unique<RunLog>(resumed ? RunLog::resume(path, result_.steps_done) : RunLog::start(path));
  if (resumed) {
    log_->write({{"step", result_.steps_done}, {"resumed", true}});
  } else {
    log_->write({{"run", result_.name},
                 {"config", result_.config},
                 {"attention_degree", result_.facts.attention_degree},
                 {"parameters", result_.facts.parameters}});
  }
}

/// Of the steps up to the last one.
void Training::add_losses(std::int64_t last_step, const std::vector<double>& losses) {
  std::int64_t step = last_step - static_cast<std::int64_t>(losses.size());
  for (const double loss : losses) {
    ++step;
    if (!std::isfinite(loss)) {
      throw Error("train", fmt::format("the loss of step {} is {}; a lower learning rate may help", step, loss));
    }
    loss_sum_ += loss;
    ++loss_count_;
  }
}

void Training::note_step() {
  result_.tokens_per_second = static_cast<double>(result_.facts.tokens_per_step) *
                              static_cast<double>(result_.steps_done) / result_.train_seconds;
  const bool look_now = evaluation_due(result_.steps_done);
  if (!record_due(result_.steps_done)) return;
  last_loss_ = loss_sum_ / static_cast<double>(loss_count_);
  loss_sum_ = 0;
  loss_count_ = 0;
  CurvePoint point{.step = result_.steps_done, .loss = last_loss_, .seconds = result_.train_seconds};
  if (look_now) {
    const auto start = Clock::now();
    point.metrics = finite(run_->validate(), result_.steps_done);
    evaluation_seconds_ += seconds_since(start);
    metric_ = point.metrics.begin()->get<double>();
  }
  nlohmann::ordered_json record = {{"step", point.step}, {"loss", point.loss}, {"seconds", point.seconds}};
  if (look_now) record.update(nlohmann::ordered_json(point.metrics));
  record["tokens_per_second"] = result_.tokens_per_second;
  log_->write(record);
  result_.curve.push_back(std::move(point));
}

void Training::report_progress(bool now) {
  if (!now && seconds_since(last_report_) < 0.5) return;
  last_report_ = Clock::now();
  const double per_step = (seconds_here_ + evaluation_seconds_) / static_cast<double>(steps_here_);
  request_.on_progress({.step = result_.steps_done,
                        .steps = steps_,
                        .loss = loss_count_ > 0 ? loss_sum_ / static_cast<double>(loss_count_) : last_loss_,
                        .metric = metric_,
                        .tokens_per_second = result_.tokens_per_second,
                        .memory_bytes = memory_statistics(device_).bytes_peak,
                        .seconds_left = per_step * static_cast<double>(steps_ - result_.steps_done)});
}

void Training::save() {
  const json state = {{"result", to_json(result_)}, {"loss_sum", loss_sum_}, {"loss_count", loss_count_}};
  run_->save(checkpoint_, {{state_note, state.dump()}, {"config", result_.config.dump()}});
  last_save_ = Clock::now();
}

void Training::restore() {
  const auto notes = run_->load(checkpoint_);
  const auto note = notes.find(state_note);
  if (note == notes.end()) throw IoError("resume", fmt::format("'{}' is no checkpoint of a run", checkpoint_));
  const json state = parse_json(note->second, "checkpoint");
  RunResult saved = run_result_from(state.at("result"));
  const std::string difference = first_difference(completed_config(saved.config), result_.config);
  if (!difference.empty()) {
    throw ConfigError("resume",
                      fmt::format("'{}' was made with another {}; choose another --out", checkpoint_, difference));
  }
  saved.facts = result_.facts;
  result_ = std::move(saved);
  result_.status = RunStatus::running;
  loss_sum_ = state.at("loss_sum");
  loss_count_ = state.at("loss_count");
  if (!result_.curve.empty()) last_loss_ = result_.curve.back().loss;
}

}  // namespace

RunResult train_run(const RunRequest& request) { return Training(request).run(); }

}  // namespace bough::runner
