#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "src/core/nearest_name.h"
#include "tasks/language_model/char_lm.h"
#include "tasks/runner/task.h"

namespace bough::runner {

const std::vector<const Task*>& tasks() {
  static const std::vector<const Task*> all = {&char_lm_task()};
  return all;
}

const Task& task_named(const std::string& name) {
  std::vector<std::string> known;
  for (const Task* task : tasks()) {
    if (task->name() == name) return *task;
    known.push_back(task->name());
  }
  const std::string nearest = nearest_name(name, known);
  throw ConfigError("experiment", fmt::format("there is no task '{}'{}; known are {}", name,
                                              nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                                              fmt::join(known, ", ")));
}

std::vector<Parameter> training_parameters() {
  return {
      integer_parameter("steps", "training steps", {.initial = 2000, .smallest = 1}),
      integer_parameter("tokens_per_batch", "tokens of one step, in sequences of the task's length",
                        {.initial = 8192, .smallest = 1}),
      integer_parameter("seed", "of the first weights, the order of the data and dropout", {.initial = 1}),
      number_parameter("learning_rate", "highest rate of Adam", {.initial = 1e-3, .minimum = 0}),
      integer_parameter("warmup", "steps over which the rate rises from 0; never more than there are steps",
                        {.initial = 100}),
      number_parameter("final_fraction", "share of the rate that is left at the end of the cosine after the warm-up",
                       {.initial = 0.01, .minimum = 0, .maximum = 1}),
      number_parameter("clip", "largest norm of all gradients together; 0 = no limit", {.initial = 1.0, .minimum = 0}),
      number_parameter("beta1", "decay of Adam's first moment", {.initial = 0.9, .minimum = 0, .maximum = 0.999999}),
      number_parameter("beta2", "decay of Adam's second moment", {.initial = 0.98, .minimum = 0, .maximum = 0.999999}),
      number_parameter("epsilon", "added to the root of Adam's second moment", {.initial = 1e-9, .minimum = 0}),
      number_parameter("weight_decay", "decoupled weight decay (AdamW); 0 = plain Adam",
                       {.initial = 0.0, .minimum = 0}),
      number_parameter("span_weight",
                       "what each character that the heads of an adaptive_span graph reach, on average, adds to the "
                       "loss",
                       {.initial = 0.0, .minimum = 0}),
      number_parameter("auxiliary_weight",
                       "weight of the losses of the layers below the last at the first step; 0 = none",
                       {.initial = 0.0, .minimum = 0}),
      number_parameter("auxiliary_until", "share of the steps after which the losses of lower layers have faded away",
                       {.initial = 0.5, .minimum = 0, .maximum = 1}),
      boolean_parameter("captured", "on a GPU, record a step with its optimiser once and replay it (a CUDA graph)",
                        false),
      integer_parameter("evaluate_every", "steps between two looks at the validation data; default: a tenth of all",
                        {.smallest = 1}),
      integer_parameter("log_every", "steps between two records of the loss; default: a hundredth of all",
                        {.smallest = 1}),
      number_parameter("checkpoint_seconds", "seconds between two checkpoints", {.initial = 60.0, .minimum = 0}),
  };
}

}  // namespace bough::runner
