#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bough/core/captured_step.h"
#include "bough/nn/averaging.h"
#include "bough/nn/checkpoint.h"
#include "tasks/task.h"
#include "tasks/training/training_options.h"

namespace bough::training {

/// Takes the steps of one model: optimiser, schedule, gradient accumulation, clipping, captured steps, averages of the
/// parameters. Everything is a function of the run, the settings and the number of steps taken, bit for bit.
class Trainer {
 public:
  /// The run must outlive the trainer. `train` as training_parameters() describes it.
  Trainer(tasks::TrainingRun& run, const Settings& train, const TrainingOptions& options, Device device);

  /// One step, counted from 1. Nothing is updated if its loss is not finite.
  void step(std::int64_t step);
  enum class Losses { known, all };
  /// Losses of the steps since those of the last call, in order. Where a device computes ahead of the host, it may know
  /// none of them, unless it is asked for all and waits.
  std::vector<double> losses(Losses which);

  /// Of a step, by the schedule.
  double learning_rate(std::int64_t step) const { return rate_(step); }

  /// To be called before each evaluation: with average_checkpoints it takes the parameters as they are now.
  void note_evaluation();
  /// Metrics of the parameters that count: their average where there is one, otherwise as they are.
  nlohmann::json evaluate(tasks::Split split);
  /// Metrics of the parameters in a file that save_evaluated() wrote. The model keeps its own.
  nlohmann::json evaluate_saved(const std::string& path, tasks::Split split);

  /// The parameters that count, without what only training needs. `notes` are kept with them.
  void save_evaluated(const std::string& path, std::map<std::string, std::string> notes);
  /// Everything that the next step depends on: parameters, optimiser, averages, random state.
  void save(const std::string& path, std::map<std::string, std::string> notes);
  /// Returns the notes.
  std::map<std::string, std::string> load(const std::string& path);

 private:
  void plain_step(tasks::StepPosition at);
  void accumulated_step(tasks::StepPosition at);
  void replayed_step(tasks::StepPosition at);
  void note_loss(double loss);
  nn::CheckpointParts parts(std::map<std::string, std::string>& notes, nn::Module::NamedTensors& state);

  tasks::TrainingRun& run_;
  TrainingOptions options_;
  Device device_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  nn::Schedule rate_;
  std::optional<nn::ParameterAverage> average_;
  tasks::Batch captured_batch_;  ///< what the captured step reads
  std::unique_ptr<CapturedStep> captured_;
  /// Losses that losses() has not returned yet, in order; those of captured steps, which the host has not seen, come
  /// last.
  std::vector<double> seen_losses_;
  std::vector<Tensor> unseen_losses_;
  Tensor last_norm_;  ///< of gradients in the last captured step
};

}  // namespace bough::training
