#include "tasks/training/continuation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tasks/training/training_options.h"

namespace bough::training {
namespace {

using nlohmann::json;

constexpr const char* length_keys[] = {"steps", "epochs"};
constexpr const char* logging_keys[] = {"log_every", "checkpoint_seconds"};

/// Whether a run of the second length evaluates exactly where one of the first has done so in its steps so far. A run
/// also evaluates after its last step.
bool evaluates_alike(const TrainingOptions& before, const TrainingOptions& now, std::int64_t steps_done) {
  const bool ended = steps_done >= before.steps && before.steps != now.steps;
  return before.evaluate_every == now.evaluate_every && (!ended || before.steps % before.evaluate_every == 0);
}

}  // namespace

json without_logging(json train) {
  for (const char* key : logging_keys) train.erase(key);
  return train;
}

bool same_length(const json& train, const json& other) {
  return std::ranges::all_of(length_keys,
                             [&](const char* key) { return train.value(key, json()) == other.value(key, json()); });
}

json without_length(json train) {
  for (const char* key : length_keys) train.erase(key);
  return train;
}

std::string why_length_is_fixed(const Settings& before, const Settings& now, std::int64_t steps_per_epoch,
                                std::int64_t steps_done) {
  const TrainingOptions old_options = training_options(before, steps_per_epoch);
  const TrainingOptions options = training_options(now, steps_per_epoch);
  if (old_options.steps == options.steps) return "";
  if (steps_done > options.steps) return fmt::format("it has taken {} steps already", steps_done);
  const std::string schedule = now.string("schedule");
  const bool falls_by_epochs = schedule == "exponential" && now.has("epoch_factor");
  if (schedule != "constant" && schedule != "noam" && !falls_by_epochs) {
    return fmt::format(
        "the rates of its schedule, {}, depend on the number of all steps (those of constant and noam, and of "
        "exponential with an epoch_factor, do not)",
        schedule);
  }
  const std::int64_t warmup = now.integer("warmup");
  if (std::min(warmup, old_options.steps) != std::min(warmup, options.steps)) {
    return fmt::format("its warm-up of {} steps would end elsewhere", warmup);
  }
  const bool evaluations_matter = options.average_checkpoints > 0 || options.patience;
  if (evaluations_matter && !evaluates_alike(old_options, options, steps_done)) {
    return fmt::format(
        "{} counts evaluations, which would have been after other steps; a train.evaluate_every that "
        "divides {} steps allows it",
        options.patience ? "early_stopping" : "average_checkpoints", old_options.steps);
  }
  return "";
}

}  // namespace bough::training
