#include "tasks/training/training_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"

namespace bough::training {
namespace {

constexpr std::int64_t default_steps = 2000;
constexpr double default_beta1 = 0.9, default_beta2 = 0.98;

}  // namespace

std::vector<Parameter> training_parameters() {
  return {
      integer_parameter("steps", "training steps; default: 2000, unless epochs are given", {.smallest = 1}),
      number_parameter("epochs", "instead of steps: how often the training data is seen", {.minimum = 1e-6}),
      integer_parameter("seed", "of the first weights, the order of the data and dropout", {.initial = 1}),
      choice_parameter("precision", "numbers that the model computes with", {"float32", "bfloat16"}),
      integer_parameter("gradient_accumulation",
                        "micro-batches of a step, one after the other: the same step with less memory",
                        {.initial = 1, .smallest = 1}),
      choice_parameter("optimizer", "adamw: Adam with decoupled weight decay; adam; sgd", {"adamw", "adam", "sgd"}),
      number_parameter("learning_rate", "highest rate of the schedule", {.initial = 1e-3, .minimum = 0}),
      choice_parameter("schedule", "how the rate falls after the warm-up",
                       {"cosine", "linear", "noam", "exponential", "constant"}),
      integer_parameter("warmup", "steps over which the rate rises from 0; never more than there are steps",
                        {.initial = 100}),
      number_parameter("final_fraction",
                       "share of the rate that is left at the end of a cosine, linear or exponential schedule",
                       {.initial = 0.01, .minimum = 0, .maximum = 1}),
      number_parameter("epoch_factor",
                       "of an exponential schedule: the rate is multiplied by it after each epoch, and stays the same "
                       "within one; default: it falls at each step, to final_fraction",
                       {.minimum = 1e-6, .maximum = 1}),
      number_parameter("clip", "largest norm of all gradients together; 0 = no limit", {.initial = 1.0, .minimum = 0}),
      number_parameter("beta1", "decay of Adam's first moment",
                       {.initial = default_beta1, .minimum = 0, .maximum = 0.999999}),
      number_parameter("beta2", "decay of Adam's second moment",
                       {.initial = default_beta2, .minimum = 0, .maximum = 0.999999}),
      number_parameter("epsilon", "added to the root of Adam's second moment", {.initial = 1e-9, .minimum = 0}),
      number_parameter("momentum", "of sgd", {.initial = 0.0, .minimum = 0, .maximum = 1}),
      number_parameter("weight_decay", "of adamw decoupled from the gradient, otherwise added to it",
                       {.initial = 0.0, .minimum = 0}),
      choice_parameter("weight_decay_of",
                       "what decays: all parameters; or matrices: the weights of projections alone, neither biases, "
                       "norms, embeddings, positions nor relation keys",
                       {"all", "matrices"}),
      number_parameter("ema",
                       "decay of an exponential moving average of the parameters, which is then what is evaluated; "
                       "default: none",
                       {.minimum = 0, .maximum = 0.999999999}),
      integer_parameter("average_checkpoints",
                        "the mean of the parameters at so many evaluations, the last ones, is what is evaluated; 0 = "
                        "none",
                        {.initial = 0, .largest = 1000}),
      object_parameter(
          "early_stopping", "ends a run that no longer gets better",
          {integer_parameter("patience", "evaluations in a row that may be no better than the best; default: no limit",
                             {.smallest = 1})}),
      boolean_parameter("captured", "on a GPU, capture a step with its optimiser once and replay it (a CUDA graph)",
                        false),
      integer_parameter("evaluate_every",
                        "steps between two evaluations on the validation data; default: a tenth of all, or an epoch if "
                        "epochs are given",
                        {.smallest = 1}),
      integer_parameter("log_every", "steps between two records of the loss; default: a hundredth of all",
                        {.smallest = 1}),
      number_parameter("checkpoint_seconds", "seconds between two checkpoints", {.initial = 60.0, .minimum = 0}),
  };
}

nlohmann::json with_default_steps(nlohmann::json train) {
  const auto given = [&train](const char* key) { return train.contains(key) && !train[key].is_null(); };
  if (!given("steps") && !given("epochs")) train["steps"] = default_steps;
  return train;
}

void check_training(const Settings& train) {
  const auto refuse = [](const std::string& text) { throw ConfigError("train", text); };
  if (train.has("steps") && train.has("epochs")) {
    refuse(fmt::format("steps = {} and epochs = {} are both given; leave one out (--set train.steps=null)",
                       train.integer("steps"), train.number("epochs")));
  }
  if (train.string("precision") != "float32") {
    refuse(fmt::format("precision \"{}\" is not there yet; use \"float32\"", train.string("precision")));
  }
  if (train.has("ema") && train.integer("average_checkpoints") > 0) {
    refuse(fmt::format("ema = {} and average_checkpoints = {} are two averages of the same parameters; choose one",
                       train.number("ema"), train.integer("average_checkpoints")));
  }
  if (train.boolean("captured") && train.integer("gradient_accumulation") > 1) {
    refuse(fmt::format("captured steps have one batch, not gradient_accumulation = {}; leave one of the two out",
                       train.integer("gradient_accumulation")));
  }
  const std::string optimizer = train.string("optimizer");
  if (optimizer != "sgd" && train.number("momentum") != 0) {
    refuse(fmt::format("momentum = {} is for sgd, not for {}, which has beta1 and beta2; leave it out",
                       train.number("momentum"), optimizer));
  }
  if (optimizer == "sgd" && (train.number("beta1") != default_beta1 || train.number("beta2") != default_beta2)) {
    refuse(
        fmt::format("beta1 = {} and beta2 = {} are for adam and adamw, not for sgd, which has momentum; leave them "
                    "out",
                    train.number("beta1"), train.number("beta2")));
  }
  const bool exponential = train.string("schedule") == "exponential";
  if (train.has("epoch_factor") && !exponential) {
    refuse(fmt::format("epoch_factor = {} is for an exponential schedule, not for {}; leave it out",
                       train.number("epoch_factor"), train.string("schedule")));
  }
  if (exponential && !train.has("epoch_factor") && train.number("final_fraction") == 0) {
    refuse("an exponential schedule never reaches final_fraction = 0; use a small number above it");
  }
}

TrainingOptions training_options(const Settings& train, std::int64_t steps_per_epoch) {
  const auto epochs = train.optional_number("epochs");
  const std::int64_t steps =
      epochs ? std::max<std::int64_t>(1, std::llround(std::ceil(*epochs * static_cast<double>(steps_per_epoch))))
             : train.integer("steps");
  const auto share = [steps](std::int64_t part) { return std::max<std::int64_t>(1, steps / part); };
  return {.steps = steps,
          .evaluate_every = train.optional_integer("evaluate_every").value_or(epochs ? steps_per_epoch : share(10)),
          .log_every = train.optional_integer("log_every").value_or(share(100)),
          .checkpoint_seconds = train.number("checkpoint_seconds"),
          .gradient_accumulation = train.integer("gradient_accumulation"),
          .captured = train.boolean("captured"),
          .ema_decay = train.optional_number("ema"),
          .average_checkpoints = train.integer("average_checkpoints"),
          .patience = train.object("early_stopping").optional_integer("patience")};
}

nn::Schedule make_schedule(const Settings& train, std::int64_t steps, std::int64_t steps_per_epoch) {
  const nn::WarmupDecayOptions decay{.rate = train.number("learning_rate"),
                                     .warmup = std::min(train.integer("warmup"), steps),
                                     .steps = steps,
                                     .final_fraction = train.number("final_fraction")};
  const std::string name = train.string("schedule");
  if (name == "cosine") return nn::warmup_cosine(decay);
  if (name == "linear") return nn::warmup_linear(decay);
  if (name == "exponential" && train.has("epoch_factor")) {
    return [rise = nn::warmup_constant(decay.rate, decay.warmup),
            fall = nn::step_decay({.rate = 1, .factor = train.number("epoch_factor"), .period = steps_per_epoch})](
               std::int64_t step) { return rise(step) * fall(step); };
  }
  if (name == "exponential") return nn::warmup_exponential(decay);
  if (name == "constant") return nn::warmup_constant(decay.rate, decay.warmup);
  if (name == "noam") {
    const std::int64_t warmup = std::max<std::int64_t>(1, decay.warmup);
    // The factor that makes the highest rate, that of the last step of the warm-up, the one that was asked for.
    return nn::noam({.dim = 1, .warmup = warmup, .factor = decay.rate * std::sqrt(static_cast<double>(warmup))});
  }
  throw ConfigError("train", fmt::format("there is no schedule '{}'", name));
}

std::unique_ptr<nn::Optimizer> make_optimizer(const Settings& train, const nn::Module& model) {
  const std::string name = train.string("optimizer");
  const nn::AdamOptions adam{
      .learning_rate = train.number("learning_rate"),
      .beta1 = train.number("beta1"),
      .beta2 = train.number("beta2"),
      .epsilon = train.number("epsilon"),
      .weight_decay = train.number("weight_decay"),
      .clip_norm = train.number("clip"),
      .decayed = train.string("weight_decay_of") == "matrices" ? std::optional(model.weight_matrices()) : std::nullopt};
  if (name == "adamw") return std::make_unique<nn::AdamW>(model.named_parameters(), adam);
  if (name == "adam") return std::make_unique<nn::Adam>(model.named_parameters(), adam);
  if (name == "sgd") {
    return std::make_unique<nn::Sgd>(model, nn::SgdOptions{.learning_rate = adam.learning_rate,
                                                           .momentum = train.number("momentum"),
                                                           .weight_decay = adam.weight_decay,
                                                           .clip_norm = adam.clip_norm,
                                                           .decayed = adam.decayed});
  }
  throw ConfigError("train", fmt::format("there is no optimizer '{}'", name));
}

}  // namespace bough::training
