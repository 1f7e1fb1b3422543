#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "bough/core/config.h"
#include "bough/nn/optimizer.h"
#include "bough/nn/schedule.h"

/// The training loop that all tasks share: trainer.h takes the steps, training_loop.h decides what happens between
/// them.
namespace bough::training {

/// Steps, rates, seed and the like, with help and defaults: the keys of "train" for every task.
std::vector<Parameter> training_parameters();

/// "train" as read by training_parameters(), with the default number of steps if neither steps nor epochs are given.
nlohmann::json with_default_steps(nlohmann::json train);

/// ConfigError for what the table cannot tell: steps and epochs together, two kinds of averages, a precision that is
/// not implemented, and so on. Needs no data.
void check_training(const Settings& train);

/// How long one model trains and what happens when.
struct TrainingOptions {
  std::int64_t steps = 1;
  std::int64_t evaluate_every = 1;            ///< steps between two evaluations on the validation data
  std::int64_t log_every = 1;                 ///< steps between two records of the loss
  double checkpoint_seconds = 60;             ///< between two checkpoints
  std::int64_t gradient_accumulation = 1;     ///< micro-batches of a step
  bool captured = false;                      ///< capture a step once and replay it, on a GPU
  std::optional<double> ema_decay = {};       ///< of an exponential moving average of the parameters
  std::int64_t average_checkpoints = 0;       ///< parameters at the last so many evaluations are averaged; 0 = none
  std::optional<std::int64_t> patience = {};  ///< of early stopping, in evaluations
};

/// The only place that knows defaults which depend on the data: train.epochs in steps, evaluate_every, log_every.
TrainingOptions training_options(const Settings& train, std::int64_t steps_per_epoch);

/// train.schedule by name over that many steps. Its highest rate is train.learning_rate, reached after train.warmup
/// steps (never more than there are):
///   cosine       half a cosine down to final_fraction of the rate at the last step
///   linear       a straight line down to it
///   exponential  the same factor each step down to it; with train.epoch_factor that factor after each epoch instead
///   noam         rate * sqrt(warmup / step)
///   constant     stays
nn::Schedule make_schedule(const Settings& train, std::int64_t steps, std::int64_t steps_per_epoch);

/// train.optimizer by name, with its numbers, for all parameters of a model.
std::unique_ptr<nn::Optimizer> make_optimizer(const Settings& train, const nn::Module& model);

}  // namespace bough::training
