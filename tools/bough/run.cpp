#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/core/launch_trace.h"
#include "bough/core/parallel.h"
#include "bough/graph/plugin.h"
#include "bough/ops/matmul.h"
#include "tasks/machine.h"
#include "tasks/runner/json_schema.h"
#include "tasks/runner/run_experiment.h"
#include "tools/bough/commands.h"
#include "tools/bough/progress.h"
#include "tools/bough/words.h"

namespace bough::cli {
namespace {

namespace fs = std::filesystem;
using runner::RunPlan;
using runner::RunResult;
using runner::RunStatus;

class ProgressPrinter : public runner::SweepObserver {
 public:
  explicit ProgressPrinter(runner::Metric metric) : metric_(std::move(metric)) {}

  void on_progress(const std::string& run, const runner::RunProgress& now) override {
    std::string words = fmt::format("loss {:.4f}", now.loss);
    if (std::isfinite(now.metric)) words += fmt::format("  {} {:.4f}", metric_.name, now.metric);
    words += fmt::format("  {} tokens/s  {}  {} left", short_number(now.tokens_per_second),
                         bytes_in_words(now.memory_bytes), seconds_in_words(now.seconds_left));
    lines_.show(run, now.step, now.steps, words);
  }

  void on_result(const RunResult& result, bool was_done_before) override {
    if (result.status == RunStatus::failed) return lines_.finish(result.name, "failed: " + result.error);
    if (result.status == RunStatus::running) {
      return lines_.finish(result.name, fmt::format("saved after step {}", result.steps_done));
    }
    lines_.finish(result.name,
                  fmt::format("{} {:.4f}  degree {:.2f}  {} tokens/s  {}{}", metric_.name,
                              runner::metric_of(result, metric_.name), result.facts.attention_degree,
                              short_number(result.tokens_per_second), seconds_in_words(result.train_seconds),
                              was_done_before ? "  (done before)" : ""));
  }

 private:
  runner::Metric metric_;
  ProgressLines lines_;
};

void print_plan(const runner::Experiment& experiment, const std::vector<RunPlan>& plans, int jobs) {
  fmt::print("{}: {} run{}, {} side by side, about {} in all\n\n", experiment.name, plans.size(),
             plans.size() == 1 ? "" : "s", jobs, seconds_in_words(runner::total_seconds(plans, jobs)));
  std::size_t width = 4;
  for (const RunPlan& plan : plans) width = std::max(width, plan.run->name.size());
  fmt::print("{:<{}}  {:>8}  {:>9}  {:>10}  {:>8}  {:>12}  {:>9}  {:>9}\n", "run", width, "degree", "nodes", "edges",
             "length", "parameters", "memory", "time");
  for (const RunPlan& plan : plans) {
    if (!plan.error.empty()) {
      fmt::print("{:<{}}  cannot run: {}\n", plan.run->name, width, plan.error);
      continue;
    }
    fmt::print("{:<{}}  {:>8.2f}  {:>9}  {:>10}  {:>8}  {:>12}  {:>9}  {:>9}\n", plan.run->name, width,
               plan.facts.attention_degree, plan.facts.num_nodes, plan.facts.num_edges, plan.facts.length,
               plan.facts.parameters, bytes_in_words(plan.facts.memory_bytes), seconds_in_words(plan.seconds));
  }
  fmt::print("\nMemory and time are estimates.\n");
  const auto free_bytes = available_memory();
  const auto too_large = std::ranges::count_if(
      plans, [&](const RunPlan& plan) { return free_bytes && plan.facts.memory_bytes > *free_bytes; });
  if (too_large > 0) {
    fmt::print("{} of them may need more than the {} of memory that are free here.\n", too_large,
               bytes_in_words(*free_bytes));
  }
}

/// results/<name>, or the first of results/<name>-2, -3, ... that is not there yet.
std::string new_folder(const std::string& name) {
  const std::string first = (fs::path("results") / name).string();
  std::string folder = first;
  for (int number = 2; fs::exists(folder); ++number) folder = fmt::format("{}-{}", first, number);
  return folder;
}

std::string shell_quoted(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-+=./,:@%") == std::string::npos;
  if (plain) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

std::string command_line(const RunCommand& given) {
  std::string command = "bough run";
  const auto add = [&command](const std::string& option, const std::string& value) {
    command += fmt::format(" {} {}", option, shell_quoted(value));
  };
  if (!given.file.empty()) command += " " + shell_quoted(given.file);
  for (const std::string& folder : given.data) add("--data", folder);
  for (const std::string& text : given.overrides) add("--set", text);
  for (const std::string& library : given.plugins) add("--plugin", library);
  if (given.device != "cpu") add("--device", given.device);
  if (given.tf32) command += " --tf32";
  if (given.jobs > 0) add("--jobs", std::to_string(given.jobs));
  return command;
}

runner::Experiment read(const RunCommand& given) {
  std::vector<std::string> folders = given.data;
  const bool inline_json = given.file.starts_with('{');
  if (!given.file.empty() && !inline_json) {
    const fs::path beside = fs::path(given.file).parent_path();
    folders.push_back(beside.empty() ? "." : beside.string());
  } else {
    folders.emplace_back(".");
  }
  return runner::read_experiment(
      given.file.empty() ? runner::default_experiment() : json_from_argument(given.file, "experiment"),
      {.overrides = given.overrides, .data_folders = folders, .device = parse_device(given.device)});
}

void allow_tf32(const RunCommand& given) {
  if (!given.tf32) return;
  if (parse_device(given.device).kind == Device::Kind::cpu) throw ConfigError("run", "--tf32 is for --device cuda");
  if (!uses_cublas()) {
    throw ConfigError("run",
                      "--tf32 needs cuBLAS, which is not in this build or cannot be loaded; install it, or leave "
                      "the option out and bough's own kernels multiply");
  }
  set_tf32_products(true);
}

/// What concerns every run ends the program before any of them starts.
void require_one_that_can_start(const std::vector<RunPlan>& plans) {
  for (const RunPlan& plan : plans) {
    if (plan.error.empty()) return;
  }
  throw Error(plans.front().error);
}

}  // namespace

void run_experiment(RunCommand command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  if (command.schema) {
    fmt::print("{}\n", runner::experiment_schema().dump(2));
    return;
  }
  if (command.resume && command.out.empty()) {
    throw ConfigError("run", "--resume needs --out, the folder with the results to go on with");
  }
  if (command.resume && command.file.empty() && fs::exists(fs::path(command.out) / "experiment.json")) {
    command.file = (fs::path(command.out) / "experiment.json").string();
  }
  allow_tf32(command);
  const runner::Experiment experiment = read(command);
  const std::vector<RunPlan> plans = runner::plan_runs(experiment);
  const std::int64_t wanted_jobs = command.jobs > 0 ? command.jobs : experiment.jobs;
  // A trace sees only its own process.
  const int jobs = LaunchTrace::active() ? 1 : runner::choose_jobs(plans, wanted_jobs, num_threads());
  if (command.dry_run) {
    print_plan(experiment, plans, jobs);
    for (const RunPlan& plan : plans) {
      if (!plan.error.empty()) throw ConfigError("run", fmt::format("'{}' cannot run: {}", plan.run->name, plan.error));
    }
    return;
  }
  require_one_that_can_start(plans);
  if (command.out.empty()) command.out = new_folder(experiment.name);

  fmt::print(stderr, "{}: {} run{}, {} side by side, about {}; results go to {}\n", experiment.name, plans.size(),
             plans.size() == 1 ? "" : "s", jobs, seconds_in_words(runner::total_seconds(plans, jobs)), command.out);
  ProgressPrinter printer(experiment.task->metric());
  const runner::SweepOutcome outcome =
      runner::run_experiment(experiment, plans,
                             {.folder = command.out,
                              .resume = command.resume,
                              .jobs = jobs,
                              .worker_program = fs::read_symlink("/proc/self/exe").string(),
                              .plugins = command.plugins,
                              .command = command_line(command),
                              .observer = &printer});
  write_and_print_report(command.out);
  if (outcome.interrupted) {
    throw Error(fmt::format("interrupted; what was done is saved. To go on: {} --out {} --resume",
                            command_line(command), shell_quoted(command.out)));
  }
  if (outcome.failed > 0) {
    throw Error(fmt::format("{} of {} runs failed; the reasons are in {}", outcome.failed, plans.size(),
                            (fs::path(command.out) / "results.json").string()));
  }
}

int run_worker() { return runner::serve_worker(); }

}  // namespace bough::cli
