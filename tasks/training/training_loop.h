#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bough/tasks/run_experiment.h"
#include "tasks/machine.h"
#include "tasks/task.h"
#include "tasks/training/early_stopping.h"
#include "tasks/training/run_log.h"
#include "tasks/training/tensorboard_writer.h"
#include "tasks/training/trainer.h"
#include "tasks/training/training_options.h"

namespace bough::training {

/// Names of the files in a run's folder: what the next step depends on, and the parameters that were best on the
/// validation data. Those that were best before are kept until a checkpoint names the new ones.
inline constexpr const char* checkpoint_file = "checkpoint.safetensors";
inline constexpr const char* best_file = "best.safetensors";
inline constexpr const char* previous_best_file = "previous_best.safetensors";
/// The folder of event files in a run's folder.
inline constexpr const char* tensorboard_folder = "tensorboard";

/// A record of a run while it learned.
struct CurvePoint {
  std::int64_t step = 0;
  double loss = 0;                   ///< mean since the point before
  nlohmann::json metrics = nullptr;  ///< on the validation data, "valid_<name>"; null where there was no evaluation
  double seconds = 0;                ///< of training so far
  bool operator==(const CurvePoint&) const = default;
};
/// {"step", "loss", "seconds", "valid_<name>"...}, and back.
nlohmann::ordered_json to_json(const CurvePoint& point);
CurvePoint curve_point_from(const nlohmann::json& entry);

/// What came of training so far.
struct TrainingOutcome {
  bool finished = false;  ///< all steps taken, or stopped early; then there are metrics
  std::int64_t steps_done = 0;
  /// Validation and test metrics of the parameters that were best on the validation data, at best_step, and of those
  /// after the last step.
  nlohmann::json metrics = nlohmann::json::object();
  nlohmann::json last_metrics = nlohmann::json::object();
  std::optional<std::int64_t> best_step = {};
  std::string remark = {};  ///< which of last_metrics is not finite, and null; empty if all are
  std::vector<CurvePoint> curve = {};
  double train_seconds = 0;  ///< without evaluation
  double tokens_per_second = 0;
  std::int64_t peak_memory_bytes = 0;
  /// What these seconds depend on: the machines on which it trained, as describe_host() has them, with the device (one,
  /// unless it was resumed elsewhere), the processor time it got there and what other programs used, where the kernel
  /// tells.
  nlohmann::json machines = nlohmann::json::array();
  std::optional<ProcessorTime> processor = {};
  std::optional<MachineTime> machine_time = {};
};

struct LoopRequest {
  std::string name = {};                          ///< of the run, for its log
  nlohmann::json config = {};                     ///< kept in log and checkpoints
  std::map<std::string, std::string> notes = {};  ///< kept in checkpoints beside those of the run
  Settings train;                                 ///< as training_parameters() describes it
  tasks::Metric metric;                           ///< what progress tells
  std::optional<tasks::Metric> selection = {};    ///< decides which evaluation is the best; without one, metric does
  Device device = Device::cpu();                  ///< of the run
  std::string folder = {};                        ///< where log.jsonl and the checkpoints go; must be there
  bool resume = false;                            ///< go on from the checkpoint, if there is one
  bool tensorboard = false;                       ///< write event files for TensorBoard beside the log
  /// The process whose processor time, with that of all that it has started, is not that of other programs: of a sweep
  /// that runs several workers; 0 is this process.
  pid_t own_process = 0;
  /// Throws if a run with this configuration that has taken so many steps must not be gone on with.
  std::function<void(const nlohmann::json& saved_config, std::int64_t steps_done)> check_saved_run =
      [](const nlohmann::json&, std::int64_t) {};
  /// Asked between steps; true saves and ends.
  std::function<bool()> should_stop = [] { return false; };
  /// Called about twice a second at most.
  std::function<void(const RunProgress&)> on_progress = [](const RunProgress&) {};
  /// Throws if a checkpoint with these notes must not be gone on with.
  std::function<void(const std::map<std::string, std::string>& notes)> check_saved_notes =
      [](const std::map<std::string, std::string>&) {};
};

/// Trains one model: evaluates every train.evaluate_every steps and after the last, keeps the parameters that were best
/// on the validation data in best.safetensors, stops early where train.early_stopping says so, saves a checkpoint every
/// train.checkpoint_seconds and when it ends, and tests the best parameters and the last ones. A run that was
/// interrupted and resumed gives the same bits as one that was not, best parameters, patience and averages included. On
/// request there are event files for TensorBoard: train/loss, train/learning_rate, train/tokens_per_second,
/// valid/<metric> and at the end test/<metric> of the best parameters, with the configuration as text and as
/// hyperparameters.
class TrainingLoop {
 public:
  /// The run must outlive the loop.
  TrainingLoop(tasks::TrainingRun& run, LoopRequest request);

  /// Error for a loss or metric that is not finite, but for the test of parameters that are not the best; IoError for a
  /// full disk or a damaged checkpoint.
  void run();
  /// Also after run() has thrown: what was done until then.
  const TrainingOutcome& outcome() const { return outcome_; }

 private:
  using Clock = std::chrono::steady_clock;

  const tasks::Metric& selection() const { return request_.selection ? *request_.selection : request_.metric; }
  bool is_over() const { return outcome_.steps_done >= options_.steps || early_stopping_.should_stop(); }
  bool evaluation_due(std::int64_t step) const { return step % options_.evaluate_every == 0 || step == options_.steps; }
  bool record_due(std::int64_t step) const { return evaluation_due(step) || step % options_.log_every == 0; }
  void open_log(bool resumed);
  void open_tensorboard(bool resumed);
  /// What TensorBoard shows of a point of the curve.
  std::map<std::string, double> scalars_of(const CurvePoint& point) const;
  void take_step();
  void add_losses(std::int64_t last_step, const std::vector<double>& losses);
  void note_step();
  nlohmann::json evaluate();
  void report_progress(bool now);
  void note_machine();
  void note_processor_time();
  void finish();
  nlohmann::json metrics_at(std::int64_t step) const;
  /// What checkpoints hold beside the parameters.
  std::map<std::string, std::string> notes_with(const char* name, std::string value) const;
  std::string path_of(const char* file) const;
  void save();
  void restore();
  void save_best(std::int64_t step);
  /// Puts the best parameters that the checkpoint names back in their place.
  void restore_best();
  /// IoError unless best_file has the parameters of that step.
  void require_best(std::int64_t step) const;

  tasks::TrainingRun& run_;
  LoopRequest request_;
  tasks::RunFacts facts_;
  TrainingOptions options_;
  Trainer trainer_;
  EarlyStopping early_stopping_;
  std::optional<RunLog> log_;
  std::optional<TensorboardWriter> events_;
  TrainingOutcome outcome_;
  double loss_sum_ = 0;  ///< since the last record
  std::int64_t loss_count_ = 0;
  double last_loss_ = 0, metric_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t steps_here_ = 0;
  double seconds_here_ = 0, evaluation_seconds_ = 0;
  /// When they were noted last.
  std::optional<ProcessorTime> last_processor_time_;
  std::optional<MachineTime> last_machine_time_;
  Clock::time_point last_save_ = Clock::now(), last_report_ = {};
};

}  // namespace bough::training
