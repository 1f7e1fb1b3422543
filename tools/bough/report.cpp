#include "tools/report/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "tasks/runner/live_results.h"
#include "tools/bough/commands.h"
#include "tools/bough/output_files.h"
#include "tools/bough/result_folder.h"
#include "tools/report/differences.h"

namespace bough::cli {
namespace {

namespace fs = std::filesystem;

runner::Results results_in(const std::string& folder) {
  require_results(folder, "report");
  return runner::load_results((fs::path(folder) / "results.json").string());
}

/// Runs that count twice would look like more seeds.
void require_different_folders(const std::vector<std::string>& folders) {
  std::map<fs::path, std::string> seen;
  for (const std::string& folder : folders) {
    const auto [same, added] = seen.emplace(fs::weakly_canonical(folder), folder);
    if (added) continue;
    throw ConfigError("compare",
                      fmt::format("'{}' and '{}' are the same folder; each is named once", same->second, folder));
  }
}

void print_and_write(runner::Results results, const std::string& folder) {
  load_plugins_for_pictures(results);
  report::mark_differences(results);
  const report::Summary summary = report::summarize(std::move(results));
  make_folder_for_results(folder);
  fmt::print("{}\n{}\n{}\n", report::table_text(summary), report::plot_text(summary), report::findings_text(summary));
  report::write_report(summary, folder);
  fmt::print("{}\n", (fs::path(folder) / "report.html").string());
}

}  // namespace

void write_and_print_report(const std::string& folder) { print_and_write(runner::load_live_results(folder), folder); }

void run_report(const ReportCommand& command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  require_results(command.folder, "report");
  if (command.note || command.leave_out_times) {
    runner::Results results = results_in(command.folder);
    if (command.note) results.note = *command.note;
    for (runner::RunResult& run : results.runs) {
      if (command.leave_out_times) run.times_left_out = *command.leave_out_times;
    }
    runner::save_results((fs::path(command.folder) / "results.json").string(), results);
  }
  write_and_print_report(command.folder);
}

void run_compare(const CompareCommand& command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  require_folder_for_results(command.out);
  require_place_for_comparison(command.out);
  require_different_folders(command.folders);
  std::vector<runner::Results> all;
  for (const std::string& folder : command.folders) all.push_back(results_in(folder));
  print_and_write(report::combine(std::move(all)), command.out);
}

}  // namespace bough::cli
