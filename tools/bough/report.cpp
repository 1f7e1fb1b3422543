#include "tools/report/report.h"

#include <fmt/format.h>

#include <filesystem>

#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

namespace fs = std::filesystem;

runner::Results results_in(const std::string& folder) {
  return runner::load_results((fs::path(folder) / "results.json").string());
}

void print_and_write(const report::Summary& summary, const std::string& folder) {
  fmt::print("{}\n{}\n{}\n", report::table_text(summary), report::plot_text(summary), report::findings_text(summary));
  fs::create_directories(folder);
  report::write_report(summary, folder);
  fmt::print("{}\n", (fs::path(folder) / "report.html").string());
}

}  // namespace

void write_and_print_report(const std::string& folder) {
  print_and_write(report::summarize(results_in(folder)), folder);
}

void run_report(const ReportCommand& command) {
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
  std::vector<runner::Results> all;
  for (const std::string& folder : command.folders) all.push_back(results_in(folder));
  print_and_write(report::summarize(report::combine(std::move(all))), command.out);
}

}  // namespace bough::cli
