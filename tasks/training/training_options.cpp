#include "tasks/training/training_options.h"

namespace bough::training {

std::vector<Parameter> training_parameters() {
  return {
      integer_parameter("steps", "training steps", {.initial = 2000, .smallest = 1}),
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
      boolean_parameter("captured", "on a GPU, record a step with its optimiser once and replay it (a CUDA graph)",
                        false),
      integer_parameter("evaluate_every", "steps between two looks at the validation data; default: a tenth of all",
                        {.smallest = 1}),
      integer_parameter("log_every", "steps between two records of the loss; default: a hundredth of all",
                        {.smallest = 1}),
      number_parameter("checkpoint_seconds", "seconds between two checkpoints", {.initial = 60.0, .minimum = 0}),
  };
}

}  // namespace bough::training
