#include "tasks/runner/run_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/ops/matmul.h"
#include "tasks/machine.h"
#include "tasks/training/training_options.h"

namespace bough::runner {
namespace {

// A training step against the bare product of its widths: norms, copies, short rows and backward's bookkeeping.
constexpr double share_of_product_speed = 0.3;

/// Operations a second of the products that a model of this width is made of, on this thread.
double measure_product_speed(std::int64_t width) {
  using Clock = std::chrono::steady_clock;
  const NoGrad no_grad;
  const std::int64_t rows = 256;  // few enough that the product stays on one thread
  const Tensor x = ones({rows, width}), weight = ones({width, width});
  linear(x, weight);
  const double operations = 2.0 * static_cast<double>(rows * width * width);
  std::int64_t calls = 0;
  const auto start = Clock::now();
  std::chrono::duration<double> passed{};
  do {
    linear(x, weight);
    ++calls;
    passed = Clock::now() - start;
  } while (passed.count() < 0.05);
  return static_cast<double>(calls) * operations / passed.count();
}

/// What runs share that differ in their seed alone: one of them stands for all.
std::string without_seed(nlohmann::json config) {
  if (config.contains("train")) config["train"].erase("seed");
  return config.dump();
}

}  // namespace

std::vector<RunPlan> plan_runs(const Experiment& experiment) {
  std::vector<RunPlan> plans;
  std::map<std::int64_t, double> speed_of_width;
  std::map<std::string, std::size_t> plan_of;  // by configuration
  std::set<std::string> missing;
  InputReader inputs;
  for (const PlannedRun& run : experiment.runs) {
    RunPlan plan{.run = &run};
    const std::string key = without_seed(run.config);
    if (const auto known = plan_of.find(key); known != plan_of.end()) {
      plan = plans[known->second];
      plan.run = &run;
      plans.push_back(std::move(plan));
      continue;
    }
    plan_of[key] = plans.size();
    try {
      const auto started = experiment.task->start(run.checked);
      plan.facts = started->facts();
      plan.remarks = started->remarks();
      plan.bounds = started->bounds();
      plan.steps_per_epoch = started->steps_per_epoch();
      plan.inputs = inputs.read(*experiment.task, run.checked);
      const training::TrainingOptions options = training::training_options(run.checked.train, plan.steps_per_epoch);
      const std::int64_t width = run.checked.model.integer("dim");
      if (!speed_of_width.contains(width)) speed_of_width[width] = measure_product_speed(width);
      const std::int64_t evaluations = options.steps / options.evaluate_every;
      // Usually the last parameters are the best ones; otherwise both are tested.
      const double steps = static_cast<double>(options.steps) +
                           static_cast<double>(evaluations) * plan.facts.validation_steps + plan.facts.test_steps;
      plan.seconds = steps * plan.facts.operations_per_step / (share_of_product_speed * speed_of_width[width]);
    } catch (const IoError& error) {
      missing.insert(error.what());
    } catch (const std::exception& error) {
      plan.error = error.what();
    }
    plans.push_back(std::move(plan));
  }
  if (!missing.empty()) throw IoError(fmt::format("{}", fmt::join(missing, "; ")));
  return plans;
}

int choose_jobs(const std::vector<RunPlan>& plans, std::int64_t wanted, int threads) {
  const auto runs =
      static_cast<std::int64_t>(std::ranges::count_if(plans, [](const RunPlan& plan) { return plan.error.empty(); }));
  const std::int64_t most = std::max<std::int64_t>(1, runs);
  if (wanted > 0) return static_cast<int>(std::min(wanted, most));
  std::int64_t largest = 1;
  for (const RunPlan& plan : plans) largest = std::max(largest, plan.facts.memory_bytes);
  const std::int64_t fitting = available_memory().value_or(std::int64_t{1} << 40) / 2 / largest;
  return static_cast<int>(std::clamp<std::int64_t>(fitting, 1, std::min<std::int64_t>(threads, most)));
}

double total_seconds(const std::vector<RunPlan>& plans, int jobs) {
  double all = 0, longest = 0;
  for (const RunPlan& plan : plans) {
    all += plan.seconds;
    longest = std::max(longest, plan.seconds);
  }
  return std::max(all / jobs, longest);
}

}  // namespace bough::runner
