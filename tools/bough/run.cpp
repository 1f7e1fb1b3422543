#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/core/launch_trace.h"
#include "bough/graph/plugin.h"
#include "bough/ops/matmul.h"
#include "bough/tasks/run_experiment.h"
#include "src/core/files.h"
#include "tasks/machine.h"
#include "tasks/recorded_plugins.h"
#include "tasks/runner/extends.h"
#include "tasks/runner/json_schema.h"
#include "tasks/runner/key_reference.h"
#include "tasks/runner/results.h"
#include "tasks/runner/sweep_axes.h"
#include "tasks/runner/worker.h"
#include "tools/bough/commands.h"
#include "tools/bough/output_files.h"
#include "tools/bough/progress.h"
#include "tools/bough/result_folder.h"
#include "tools/bough/words.h"

namespace bough::cli {
namespace {

namespace fs = std::filesystem;

/// What "degree" of the graphs has become, one line for each graph.
void print_choices(const ExperimentPlan& plan, std::FILE* file) {
  std::set<std::string> printed;
  for (const RunEstimate& run : plan.runs) {
    if (!run.choice.empty() && printed.insert(run.choice).second) fmt::print(file, "{}\n", run.choice);
  }
}

void print_plan(const ExperimentPlan& plan) {
  fmt::print("{}: {} run{}, {} side by side, about {} in all\n\n", plan.name, plan.runs.size(),
             plan.runs.size() == 1 ? "" : "s", plan.jobs, seconds_in_words(plan.seconds));
  std::size_t width = 4;
  for (const RunEstimate& run : plan.runs) width = std::max(width, run.name.size());
  fmt::print("{:<{}}  {:>8}  {:>9}  {:>10}  {:>8}  {:>12}  {:>9}  {:>9}\n", "run", width, "degree", "nodes", "edges",
             "length", "parameters", "memory", "time");
  for (const RunEstimate& run : plan.runs) {
    if (!run.error.empty()) {
      fmt::print("{:<{}}  cannot run: {}\n", run.name, width, run.error);
      continue;
    }
    fmt::print("{:<{}}  {:>8.2f}  {:>9}  {:>10}  {:>8}  {:>12}  {:>9}  {:>9}\n", run.name, width, run.attention_degree,
               run.num_nodes, run.num_edges, run.length, run.parameters, bytes_in_words(run.memory_bytes),
               seconds_in_words(run.seconds));
  }
  fmt::print("\nMemory and time are estimates.\n");
  print_choices(plan, stdout);
  const auto free_bytes = available_memory();
  const auto too_large = std::ranges::count_if(
      plan.runs, [&](const RunEstimate& run) { return free_bytes && run.memory_bytes > *free_bytes; });
  if (too_large > 0) {
    fmt::print("{} of them may need more than the {} of memory that are free here.\n", too_large,
               bytes_in_words(*free_bytes));
  }
}

/// An experiment that was put together from options becomes a file that can be run again.
void write_experiment(const RunCommand& command) {
  if (command.text.empty()) return;
  if (fs::exists(command.file) && read_json_file(command.file) == parse_json(command.text, "experiment")) return;
  make_folder_for_results(fs::path(command.file).parent_path().string());
  AtomicFileWriter writer(command.file);
  writer.write(command.text.data(), command.text.size());
  writer.commit();
  fmt::print(stderr, "the experiment is in {0}; to run it again, changed or not: bough run {0}\n", command.file);
}

/// What the folder has already, in one line: a larger sweep joins the runs that were there before.
std::string runs_that_are_kept(const ExperimentPlan& plan, const RunCommand& command) {
  const fs::path file = fs::path(command.out) / "results.json";
  if (command.resume || !fs::exists(file)) return "";
  runner::Results before = runner::load_results(file.string());
  const auto kept = std::ranges::count_if(plan.runs, [&](const RunEstimate& run) {
    const runner::RunResult* result = before.find(run.name);
    return result != nullptr && result->status == RunStatus::done;
  });
  if (kept == 0) return "";
  return fmt::format("{} has {} of these {} runs already; {} kept\n", command.out, kept, plan.runs.size(),
                     kept == 1 ? "it is" : "they are");
}

void require_no_errors(const ExperimentPlan& plan) {
  for (const RunEstimate& run : plan.runs) {
    if (!run.error.empty()) throw ConfigError("run", fmt::format("'{}' cannot run: {}", run.name, run.error));
  }
}

/// Prints the table of a dry run, otherwise how far the runs are.
class ProgressPrinter : public RunObserver {
 public:
  /// The remarks are printed before the plan.
  ProgressPrinter(RunCommand command, std::string remarks)
      : command_(std::move(command)), remarks_(std::move(remarks)) {}

  void on_plan(const ExperimentPlan& plan) override {
    plan_ = plan;
    // Of a comparison all are wanted: the others would train for nothing.
    if (!command_.text.empty() && !command_.dry_run) require_no_errors(plan);
    fmt::print(stderr, "{}{}", remarks_, runs_that_are_kept(plan, command_));
    for (const std::string& remark : plan.remarks) fmt::print(stderr, "{}\n", remark);
    if (command_.dry_run) return print_plan(plan);
    const auto can_start = [](const RunEstimate& run) { return run.error.empty(); };
    if (std::ranges::none_of(plan.runs, can_start)) return;
    write_experiment(command_);
    fmt::print(stderr, "{}: {} run{}, {} side by side, about {}; results go to {}\n", plan.name, plan.runs.size(),
               plan.runs.size() == 1 ? "" : "s", plan.jobs, seconds_in_words(plan.seconds), command_.out);
    print_choices(plan, stderr);
  }

  void on_progress(const std::string& run, const RunProgress& now) override { display().show(run, now); }

  void on_result(const RunOutcome& result, bool was_done_before) override {
    if (result.status == RunStatus::failed) return display().finish(result.name, "failed: " + result.error, true);
    if (result.status == RunStatus::running) {
      return display().finish(result.name, fmt::format("saved after step {}", result.steps));
    }
    std::string scores = fmt::format("test {} {:.4f}", plan_.metric, score_of(result, plan_.metric));
    for (const std::string& name : plan_.further_metrics) {
      if (result.metrics.contains(name)) scores += fmt::format("  {} {:.4f}", name, score_of(result, name));
    }
    display().finish(result.name,
                     fmt::format("{}  degree {:.2f}  {} tokens/s  {}{}", scores, result.attention_degree,
                                 short_number(result.tokens_per_second), seconds_in_words(result.train_seconds),
                                 was_done_before ? "  (done before)" : ""));
  }

  const ExperimentPlan& plan() const { return plan_; }

 private:
  static double score_of(const RunOutcome& result, const std::string& metric) {
    const auto found = result.metrics.find(metric);
    return found == result.metrics.end() ? std::nan("") : found->second;
  }

  /// Made with the first thing to show, after on_plan.
  ProgressDisplay& display() { return display_ ? *display_ : display_.emplace(plan_); }

  RunCommand command_;
  std::string remarks_;
  ExperimentPlan plan_;
  std::optional<ProgressDisplay> display_;
};

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
  if (given.tensorboard) command += " --tensorboard";
  if (given.jobs > 0) add("--jobs", std::to_string(given.jobs));
  return command;
}

/// JSON text in place of a file.
bool is_inline(const std::string& argument) { return argument.starts_with('{') || argument.starts_with('['); }

/// Those of --data, then the one with the experiment.
std::vector<std::string> data_folders(const RunCommand& given) {
  std::vector<std::string> folders = given.data;
  const fs::path beside = is_inline(given.file) ? fs::path() : fs::path(given.file).parent_path();
  folders.push_back(beside.empty() ? "." : beside.string());
  return folders;
}

/// Those that the results in the folder were made with, so that they need not be given again.
void load_recorded_plugins(const std::string& folder) {
  const std::string path = (fs::path(folder) / "results.json").string();
  if (!fs::exists(path)) return;
  for (const runner::RunResult& run : runner::load_results(path).runs) {
    tasks::load_recorded_plugins(run.config.value("graph", nlohmann::json()), run.plugins);
  }
}

nlohmann::json given_experiment(const RunCommand& command) {
  if (!command.text.empty()) return parse_json(command.text, "experiment");
  const fs::path description = fs::path(command.file) / "experiment.json";
  if (!command.file.empty() && !is_inline(command.file) && fs::is_regular_file(description)) {
    throw IoError(command.file,
                  fmt::format("is a folder of results; the experiment that it is of is '{}'", description.string()));
  }
  return command.file.empty() ? runner::default_experiment() : json_from_argument(command.file, "experiment");
}

void require_data_folders(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (fs::is_directory(folder)) continue;
    throw ConfigError("--data", fmt::format("'{}' is {}", folder,
                                            fs::exists(folder) ? "a file; name the folder that it is in"
                                                               : "not there; it names a folder with data files"));
  }
}

/// A mistyped folder would otherwise begin the experiment again without a word.
void require_runs_to_resume(const std::string& folder) {
  if (fs::exists(fs::path(folder) / "results.json")) return;
  const bool lost = fs::exists(fs::path(folder) / "experiment.json") || fs::exists(fs::path(folder) / "runs");
  throw ConfigError("--resume", fmt::format("there is nothing to go on with in '{}': {}", folder,
                                            lost ? "its results.json is gone, without which no run can go on; put it "
                                                   "back, or start anew with another --out"
                                            : fs::exists(folder) ? "it holds no results.json of bough run"
                                                                 : "there is no such folder"));
}

/// Without it the built-in experiment would be compared with these results.
void require_experiment_to_resume(const std::string& folder) {
  const fs::path file = fs::path(folder) / "experiment.json";
  if (!fs::exists(fs::path(folder) / "results.json") || fs::exists(file)) return;
  throw ConfigError("--resume", fmt::format("'{}' is not there, so the experiment must be named: bough run EXPERIMENT "
                                            "--resume --out {}",
                                            file.string(), shell_quoted(folder)));
}

/// A value that is set is swept no more, which is easily overlooked: one line for each.
std::string ended_sweeps(const nlohmann::json& experiment, const std::vector<std::string>& overrides) {
  std::string lines;
  const nlohmann::json sweep = experiment.is_object() ? experiment.value("sweep", nlohmann::json()) : nlohmann::json();
  const std::vector<std::string> swept = runner::swept_paths(sweep);
  for (const std::string& text : overrides) {
    const std::string path = text.substr(0, text.find('='));
    if (std::ranges::find(swept, path) == swept.end()) continue;
    lines += fmt::format("--set {}: {} is not swept any more\n", text, path);
  }
  return lines;
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

}  // namespace

void run_experiment(RunCommand command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  if (command.schema) {
    fmt::print("{}\n", runner::experiment_schema().dump(2));
    return;
  }
  if (command.keys) {
    fmt::print("{}", runner::key_reference());
    return;
  }
  const bool file_given = !command.file.empty();
  if (command.resume && !command.out.empty() && !file_given && fs::exists(fs::path(command.out) / "experiment.json")) {
    command.file = (fs::path(command.out) / "experiment.json").string();
  }
  if (command.resume && !command.out.empty() && !file_given) require_experiment_to_resume(command.out);
  allow_tf32(command);
  require_data_folders(command.data);
  const nlohmann::json experiment = given_experiment(command);
  const std::string experiment_file = is_inline(command.file) ? "" : command.file;
  const nlohmann::json whole =
      runner::with_extended(experiment, {.file = experiment_file, .data_folders = data_folders(command)}).source;
  if (command.out.empty()) {
    const std::string name = runner::experiment_name(whole, command.overrides);
    command.out = command.resume ? last_folder(name) : new_folder(name);
  }
  require_folder_for_results(command.out);
  if (command.resume) require_runs_to_resume(command.out);
  // An experiment that was given again says itself where its plug-ins are now.
  if (command.resume && !(file_given && whole.contains("plugins"))) load_recorded_plugins(command.out);
  require_place_for_report(command.out);

  ProgressPrinter printer(command, ended_sweeps(whole, command.overrides));
  const ExperimentResults results =
      bough::run_experiment(experiment, {.folder = command.out,
                                         .data_folders = data_folders(command),
                                         .experiment_file = experiment_file,
                                         .overrides = command.overrides,
                                         .plugins = command.plugins,
                                         .device = parse_device(command.device),
                                         .resume = command.resume,
                                         .tensorboard = command.tensorboard,
                                         .plan_only = command.dry_run,
                                         // A trace sees only its own process.
                                         .jobs = LaunchTrace::active() ? 1 : command.jobs,
                                         .worker_program = fs::read_symlink("/proc/self/exe").string(),
                                         .handle_signals = true,
                                         .command = command_line(command),
                                         .observer = &printer});
  if (command.dry_run) {
    require_no_errors(printer.plan());
    return;
  }
  const auto done = std::ranges::count(results.runs, RunStatus::done, &RunOutcome::status);
  // Without one there is nothing to show.
  if (done > 0) write_and_print_report(command.out);
  if (results.interrupted) {
    throw Error(
        fmt::format("interrupted with {} of {} runs done; what was begun is saved. To go on: {} --out {} "
                    "--resume",
                    done, printer.plan().runs.size(), command_line(command), shell_quoted(command.out)));
  }
  if (results.failed > 0) {
    throw Error(fmt::format("{} of {} runs failed; the reasons are in {}", results.failed, printer.plan().runs.size(),
                            (fs::path(command.out) / "results.json").string()));
  }
}

int run_worker() { return runner::serve_worker(); }

}  // namespace bough::cli
