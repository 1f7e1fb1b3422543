#include <fmt/format.h>

#include <memory>

#include "bough/core/parallel.h"
#include "tasks/demo/spirals.h"
#include "tools/bough/commands.h"
#include "tools/bough/progress.h"

namespace bough::cli {
namespace {

struct RunOptions {
  std::int64_t steps = 500;
  std::uint64_t seed = 1;
};

void run(const RunOptions& options) {
  fmt::print("training a classifier to tell {} spirals apart, {} steps, seed {}, {} {}\n", spirals::num_arms,
             options.steps, options.seed, num_threads(), num_threads() == 1 ? "thread" : "threads");
  std::fflush(stdout);
  const spirals::Outcome outcome = [&] {
    ProgressLine progress;
    const auto show = [&](const spirals::Progress& now) {
      progress.show(now.step, now.steps, fmt::format("loss {:.4f}", now.loss));
    };
    return spirals::train({.steps = options.steps, .seed = options.seed, .on_step = show});
  }();
  fmt::print("{:.1f}% of {} points it had not seen are right, loss {:.4f}; {} parameters, {} points, {:.1f} s\n",
             100 * outcome.test_accuracy, outcome.test_points, outcome.test_loss, outcome.parameters,
             outcome.train_points, outcome.train_seconds);
}

}  // namespace

void add_run_command(Commands& commands) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command =
      commands.add("run", "Train a small classifier on data made in the program", [options] { run(*options); });
  command.add_option("--steps", options->steps, "Training steps")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""))
      ->capture_default_str();
  command.add_option("--seed", options->seed, "Of the data and the first weights")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace bough::cli
