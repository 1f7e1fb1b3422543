#include "tasks/training/training_loop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/core/memory.h"

namespace bough::training {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* state_note = "bough:run";
constexpr const char* step_note = "step";

/// What metrics of the validation data begin with.
const std::string valid_prefix = "valid_";

/// The numbers among metrics whose names begin with the prefix, as "<group>/<rest of the name>". Without a prefix those
/// of the validation data are left out.
std::map<std::string, double> scalars_named(const std::string& group, const json& metrics, const std::string& prefix) {
  std::map<std::string, double> scalars;
  for (const auto& [name, value] : metrics.items()) {
    if (!value.is_number() || !name.starts_with(prefix) || (prefix.empty() && name.starts_with(valid_prefix))) continue;
    scalars[group + "/" + name.substr(prefix.size())] = value.get<double>();
  }
  return scalars;
}

/// The step of parameters that were saved as the best; nothing if there are none. Files without a note do not tell.
std::optional<std::int64_t> step_of_best(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  const auto metadata = nn::load_tensors(path).metadata;
  const auto note = metadata.find(step_note);
  return note == metadata.end() ? std::nullopt : std::optional(std::stoll(note->second));
}

template <typename Start>
double seconds_since(Start start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Which metric of the parameters after a step is not finite, in words; empty if all are. A model whose weights have
/// overflowed can still have had a finite loss in its last step.
std::string what_is_not_finite(const json& metrics, std::int64_t step) {
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number() && !std::isfinite(value.get<double>())) {
      return fmt::format("{} after step {} is {}; a lower learning rate may help", name, step, value.get<double>());
    }
  }
  return "";
}

json finite(json metrics, std::int64_t step) {
  const std::string reason = what_is_not_finite(metrics, step);
  if (!reason.empty()) throw Error("train", reason);
  return metrics;
}

/// With null in the place of numbers that are not finite.
json without_infinite(json metrics) {
  for (json& value : metrics) {
    if (value.is_number() && !std::isfinite(value.get<double>())) value = nullptr;
  }
  return metrics;
}

/// Null stands for a number that was not finite.
double number_in(const json& entry, const char* key) {
  const json& value = entry.at(key);
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

json to_json(const TrainingOutcome& outcome) {
  json curve = json::array();
  for (const CurvePoint& point : outcome.curve) curve.push_back(json(to_json(point)));
  json state = {{"steps_done", outcome.steps_done},
                {"curve", curve},
                {"train_seconds", outcome.train_seconds},
                {"tokens_per_second", outcome.tokens_per_second},
                {"peak_memory_bytes", outcome.peak_memory_bytes},
                {"machines", outcome.machines}};
  if (outcome.processor) {
    state["processor"] = {{"used", outcome.processor->used_seconds}, {"waited", outcome.processor->waited_seconds}};
  }
  if (outcome.machine_time) {
    state["machine_time"] = {{"all", outcome.machine_time->all_seconds},
                             {"other", outcome.machine_time->other_seconds}};
  }
  return state;
}

TrainingOutcome outcome_from(const json& entry) {
  TrainingOutcome outcome;
  outcome.steps_done = entry.at("steps_done");
  outcome.train_seconds = entry.at("train_seconds");
  outcome.tokens_per_second = entry.at("tokens_per_second");
  outcome.peak_memory_bytes = entry.at("peak_memory_bytes");
  for (const json& point : entry.at("curve")) outcome.curve.push_back(curve_point_from(point));
  // Checkpoints of earlier versions have none of these.
  outcome.machines = entry.value("machines", json::array());
  if (entry.contains("processor")) {
    const json& processor = entry["processor"];
    outcome.processor = {.used_seconds = processor.at("used"), .waited_seconds = processor.at("waited")};
  }
  if (entry.contains("machine_time")) {
    const json& time = entry["machine_time"];
    outcome.machine_time = {.all_seconds = time.at("all"), .other_seconds = time.at("other")};
  }
  return outcome;
}

}  // namespace

ordered_json to_json(const CurvePoint& point) {
  ordered_json entry = {{"step", point.step}, {"loss", point.loss}, {"seconds", point.seconds}};
  if (!point.metrics.is_null()) entry.update(ordered_json(point.metrics));
  return entry;
}

CurvePoint curve_point_from(const json& entry) {
  CurvePoint point{.step = entry.at("step"), .loss = number_in(entry, "loss"), .seconds = number_in(entry, "seconds")};
  json metrics = entry;
  for (const char* key : {"step", "loss", "seconds"}) metrics.erase(key);
  if (!metrics.empty()) point.metrics = metrics;
  return point;
}

TrainingLoop::TrainingLoop(tasks::TrainingRun& run, LoopRequest request)
    : run_(run),
      request_(std::move(request)),
      facts_(run.facts()),
      options_(training_options(request_.train, run.steps_per_epoch())),
      trainer_(run, request_.train, options_, request_.device),
      early_stopping_(selection().lower_is_better, options_.patience) {
  if (request_.own_process == 0) request_.own_process = ::getpid();
}

std::string TrainingLoop::path_of(const char* file) const {
  return (std::filesystem::path(request_.folder) / file).string();
}

void TrainingLoop::run() {
  const bool resumed = request_.resume && std::filesystem::exists(path_of(checkpoint_file));
  if (resumed) {
    restore();
  } else {
    // What an earlier run has left here.
    for (const char* file : {best_file, previous_best_file}) std::filesystem::remove(path_of(file));
  }
  note_machine();
  open_log(resumed);
  if (request_.tensorboard) open_tensorboard(resumed);
  while (!is_over() && !request_.should_stop()) take_step();
  add_losses(outcome_.steps_done, trainer_.losses(Trainer::Losses::all));
  outcome_.peak_memory_bytes = std::max(outcome_.peak_memory_bytes, memory_statistics(request_.device).bytes_peak);
  note_processor_time();
  if (!is_over()) return save();
  finish();
}

void TrainingLoop::take_step() {
  const std::int64_t step = outcome_.steps_done + 1;
  const bool save_now = seconds_since(last_save_) >= options_.checkpoint_seconds;
  const auto start = Clock::now();
  trainer_.step(step);
  // The first one too, so that progress has something to tell.
  const bool all = save_now || record_due(step) || steps_here_ == 0;
  add_losses(step, trainer_.losses(all ? Trainer::Losses::all : Trainer::Losses::known));
  const double seconds = seconds_since(start);
  outcome_.steps_done = step;
  outcome_.train_seconds += seconds;
  seconds_here_ += seconds;
  ++steps_here_;
  note_step();
  report_progress(is_over());
  if (save_now) save();
}

void TrainingLoop::note_machine() {
  json machine = describe_host();
  machine["device"] = to_string(request_.device);
  if (std::ranges::find(outcome_.machines, machine) == outcome_.machines.end()) {
    outcome_.machines.push_back(std::move(machine));
  }
  last_processor_time_ = processor_time();
  last_machine_time_ = machine_time(request_.own_process);
}

/// Adds what has come since the last time. A thread that has ended takes its share with it, so the sum may fall.
void TrainingLoop::note_processor_time() {
  const std::optional<ProcessorTime> now = processor_time();
  if (now && last_processor_time_) {
    ProcessorTime& total = outcome_.processor ? *outcome_.processor : outcome_.processor.emplace();
    total.used_seconds += std::max(0.0, now->used_seconds - last_processor_time_->used_seconds);
    total.waited_seconds += std::max(0.0, now->waited_seconds - last_processor_time_->waited_seconds);
  }
  last_processor_time_ = now;

  const std::optional<MachineTime> machine_now = machine_time(request_.own_process);
  if (machine_now && last_machine_time_) {
    MachineTime& total = outcome_.machine_time ? *outcome_.machine_time : outcome_.machine_time.emplace();
    total.all_seconds += std::max(0.0, machine_now->all_seconds - last_machine_time_->all_seconds);
    total.other_seconds += std::max(0.0, machine_now->other_seconds - last_machine_time_->other_seconds);
  }
  last_machine_time_ = machine_now;
}

/// Tests the best parameters and the last ones, which are often the same.
void TrainingLoop::finish() {
  const std::int64_t last = outcome_.steps_done, best = early_stopping_.best_step().value_or(last);
  json last_metrics = metrics_at(last);
  last_metrics.update(trainer_.evaluate(tasks::Split::test));
  outcome_.best_step = best;
  if (best == last) {
    outcome_.metrics = outcome_.last_metrics = finite(std::move(last_metrics), last);
  } else {
    require_best(best);
    json metrics = metrics_at(best);
    metrics.update(trainer_.evaluate_saved(path_of(best_file), tasks::Split::test));
    outcome_.metrics = finite(std::move(metrics), best);
    outcome_.remark = what_is_not_finite(last_metrics, last);
    outcome_.last_metrics = without_infinite(std::move(last_metrics));
  }
  outcome_.finished = true;
  save();
  if (events_) events_->add_scalars(last, scalars_named("test", outcome_.metrics, ""));
  log_->write({{"step", last},
               {"done", true},
               {"metrics", outcome_.metrics},
               {"best_step", best},
               {"last_metrics", outcome_.last_metrics},
               {"seconds", outcome_.train_seconds}});
}

json TrainingLoop::metrics_at(std::int64_t step) const {
  const auto point = std::ranges::find(outcome_.curve, step, &CurvePoint::step);
  return point == outcome_.curve.end() || point->metrics.is_null() ? json::object() : point->metrics;
}

std::map<std::string, std::string> TrainingLoop::notes_with(const char* name, std::string value) const {
  std::map<std::string, std::string> notes = request_.notes;
  notes["config"] = request_.config.dump();
  notes[name] = std::move(value);
  return notes;
}

void TrainingLoop::open_log(bool resumed) {
  const std::string path = path_of(log_file);
  log_.emplace(resumed ? RunLog::resume(path, outcome_.steps_done) : RunLog::start(path));
  if (resumed) {
    log_->write({{"step", outcome_.steps_done}, {"resumed", true}, {"steps", options_.steps}});
  } else {
    ordered_json entry = {{"run", request_.name},
                          {"config", request_.config},
                          {"attention_degree", facts_.attention_degree},
                          {"parameters", facts_.parameters}};
    if (const std::vector<std::string> remarks = run_.remarks(); !remarks.empty()) entry["data"] = remarks;
    log_->write(entry);
  }
}

/// Steps that were taken without event files come from the curve. The last one is written again, so that what an end
/// there has told of the test data goes.
void TrainingLoop::open_tensorboard(bool resumed) {
  const std::string folder = path_of(tensorboard_folder);
  const bool goes_on = resumed && TensorboardWriter::has_events(folder);
  events_.emplace(goes_on ? TensorboardWriter::resume(folder, std::max<std::int64_t>(0, outcome_.steps_done - 1))
                          : TensorboardWriter::start(folder));
  if (!goes_on) {
    // Lines that are indented by four spaces are shown as they are.
    std::string text = "    " + request_.config.dump(2);
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
      text.insert(at + 1, "    ");
    events_->add_text("configuration", text);
    events_->add_hyperparameters(request_.config);
  }
  for (const CurvePoint& point : outcome_.curve) {
    if (point.step > events_->last_step()) events_->add_scalars(point.step, scalars_of(point));
  }
}

std::map<std::string, double> TrainingLoop::scalars_of(const CurvePoint& point) const {
  std::map<std::string, double> scalars = scalars_named("valid", point.metrics, valid_prefix);
  scalars["train/loss"] = point.loss;
  scalars["train/learning_rate"] = trainer_.learning_rate(point.step);
  scalars["train/tokens_per_second"] =
      static_cast<double>(facts_.tokens_per_step) * static_cast<double>(point.step) / point.seconds;
  return scalars;
}

/// Of the steps up to the last one.
void TrainingLoop::add_losses(std::int64_t last_step, const std::vector<double>& losses) {
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

void TrainingLoop::note_step() {
  outcome_.tokens_per_second =
      static_cast<double>(facts_.tokens_per_step) * static_cast<double>(outcome_.steps_done) / outcome_.train_seconds;
  if (!record_due(outcome_.steps_done)) return;
  last_loss_ = loss_sum_ / static_cast<double>(loss_count_);
  loss_sum_ = 0;
  loss_count_ = 0;
  CurvePoint point{.step = outcome_.steps_done, .loss = last_loss_, .seconds = outcome_.train_seconds};
  if (evaluation_due(outcome_.steps_done)) point.metrics = evaluate();
  ordered_json record = to_json(point);
  record["tokens_per_second"] = outcome_.tokens_per_second;
  log_->write(record);
  if (events_) events_->add_scalars(point.step, scalars_of(point));
  outcome_.curve.push_back(std::move(point));
}

/// Metrics on the validation data; what is better than all before is saved as the best.
json TrainingLoop::evaluate() {
  const auto start = Clock::now();
  const std::int64_t step = outcome_.steps_done;
  trainer_.note_evaluation();
  json metrics = json::object();
  const json plain = trainer_.evaluate(tasks::Split::valid);
  for (const auto& [name, value] : plain.items()) metrics[valid_prefix + name] = value;
  metrics = finite(std::move(metrics), step);
  metric_ = plain.at(request_.metric.name);
  if (early_stopping_.add(step, plain.at(selection().name))) {
    save_best(step);
  }
  evaluation_seconds_ += seconds_since(start);
  return metrics;
}

void TrainingLoop::report_progress(bool now) {
  if (!now && seconds_since(last_report_) < 0.5) return;
  last_report_ = Clock::now();
  const double per_step = (seconds_here_ + evaluation_seconds_) / static_cast<double>(steps_here_);
  request_.on_progress({.step = outcome_.steps_done,
                        .steps = options_.steps,
                        .loss = loss_count_ > 0 ? loss_sum_ / static_cast<double>(loss_count_) : last_loss_,
                        .metric = metric_,
                        .tokens_per_second = outcome_.tokens_per_second,
                        .memory_bytes = memory_statistics(request_.device).bytes_peak,
                        .seconds_left = per_step * static_cast<double>(options_.steps - outcome_.steps_done)});
}

void TrainingLoop::save() {
  note_processor_time();
  const json state = {{"outcome", to_json(outcome_)},
                      {"loss_sum", loss_sum_},
                      {"loss_count", loss_count_},
                      {"early_stopping", early_stopping_.state()}};
  trainer_.save(path_of(checkpoint_file), notes_with(state_note, state.dump()));
  std::filesystem::remove(path_of(previous_best_file));
  last_save_ = Clock::now();
}

/// Those that the checkpoint names stay beside the new ones: a run that is killed before the next checkpoint goes on
/// from where they were the best.
void TrainingLoop::save_best(std::int64_t step) {
  const std::string best = path_of(best_file), previous = path_of(previous_best_file);
  if (std::filesystem::exists(best) && !std::filesystem::exists(previous)) std::filesystem::rename(best, previous);
  trainer_.save_evaluated(best, notes_with(step_note, std::to_string(step)));
}

void TrainingLoop::restore_best() {
  const std::optional<std::int64_t> wanted = early_stopping_.best_step();
  const std::string best = path_of(best_file), previous = path_of(previous_best_file);
  if (wanted && step_of_best(best) != wanted && step_of_best(previous) == wanted) {
    std::filesystem::rename(previous, best);
  }
  std::filesystem::remove(previous);
  if (!wanted) return;
  // Earlier versions kept only the newest: those of a step that will be taken and evaluated again come back.
  const std::optional<std::int64_t> found = step_of_best(best);
  const bool comes_back = found && *found > outcome_.steps_done && *found <= options_.steps && evaluation_due(*found);
  if (!comes_back) require_best(*wanted);
}

void TrainingLoop::require_best(std::int64_t step) const {
  const std::string best = path_of(best_file);
  if (!std::filesystem::exists(best)) {
    throw IoError("resume", fmt::format("there is no '{}', the parameters of step {}, which were the best so far; "
                                        "start the run anew",
                                        best, step));
  }
  const std::optional<std::int64_t> found = step_of_best(best);
  if (!found || *found == step) return;
  throw IoError("resume", fmt::format("'{}' has the parameters of step {}, while those of step {} were the best so "
                                      "far; start the run anew",
                                      best, *found, step));
}

void TrainingLoop::restore() {
  const std::string path = path_of(checkpoint_file);
  const auto notes = [&] {
    try {
      return trainer_.load(path);
    } catch (const IoError& error) {
      throw IoError(fmt::format("{}; remove '{}' to begin this run anew", error.what(), path));
    }
  }();
  const auto note = notes.find(state_note), config = notes.find("config");
  if (note == notes.end() || config == notes.end()) {
    throw IoError("resume", fmt::format("'{}' is no checkpoint of a run", path));
  }
  try {
    const json state = parse_json(note->second, "checkpoint");
    outcome_ = outcome_from(state.at("outcome"));
    loss_sum_ = state.at("loss_sum");
    loss_count_ = state.at("loss_count");
    early_stopping_.load_state(state.at("early_stopping"));
  } catch (const json::exception& error) {
    throw IoError("resume", fmt::format("'{}' was written by another version of bough ({}); start the run anew", path,
                                        error.what()));
  }
  request_.check_saved_run(parse_json(config->second, "checkpoint"), outcome_.steps_done);
  request_.check_saved_notes(notes);
  restore_best();
  if (!outcome_.curve.empty()) last_loss_ = outcome_.curve.back().loss;
}

}  // namespace bough::training
