#include "bough/tasks/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "tasks/runner/results.h"
#include "tasks/training/training_loop.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

namespace fs = std::filesystem;

bool has_checkpoint(const fs::path& folder) {
  return fs::exists(folder / training::best_file) || fs::exists(folder / training::checkpoint_file);
}

/// The runs of an experiment that have a model, with their scores, and how to use one.
void list_runs(const fs::path& folder) {
  const runner::Results results = runner::load_results((folder / "results.json").string());
  std::size_t width = 0;
  std::string first;
  for (const runner::RunResult& run : results.runs) {
    if (!has_checkpoint(folder / "runs" / run.name)) continue;
    if (first.empty()) first = (folder / "runs" / run.name).string();
    width = std::max(width, run.name.size());
  }
  if (first.empty()) {
    throw IoError("generate", fmt::format("no run of the experiment in '{}' has a checkpoint", folder.string()));
  }
  fmt::print("'{}' is an experiment; its runs that have a model:\n\n", folder.string());
  for (const runner::RunResult& run : results.runs) {
    if (!has_checkpoint(folder / "runs" / run.name)) continue;
    const double score = runner::metric_of(run, results.metric.name);
    const std::string text = std::isfinite(score) ? fmt::format("{} {:.4f}", results.metric.name, score)
                                                  : std::string(to_string(run.status));
    fmt::print("{:<{}}  {}\n", run.name, width, text);
  }
  fmt::print("\nbough generate {}\n", first);
}

}  // namespace

void run_generate(GenerateCommand command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  if (fs::is_directory(command.checkpoint)) {
    const fs::path folder = command.checkpoint;
    if (!has_checkpoint(folder) && fs::exists(folder / "results.json")) return list_runs(folder);
    const bool best = !command.last && fs::exists(folder / training::best_file);
    command.checkpoint = (folder / (best ? training::best_file : training::checkpoint_file)).string();
  }
  command.options.device = parse_device(command.device);
  fmt::print("{}", command.options.prompt);
  command.options.on_character = [](char c) {
    std::fputc(c, stdout);
    std::fflush(stdout);
  };
  generate_text(command.checkpoint, command.options);
  fmt::print("\n");
}

}  // namespace bough::cli
