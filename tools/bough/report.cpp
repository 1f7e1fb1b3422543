#include "tools/report/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

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

struct ReportOptions {
  std::string folder;
  std::optional<std::string> note;
};

void report_again(const ReportOptions& options) {
  if (options.note) {
    runner::Results results = results_in(options.folder);
    results.note = *options.note;
    runner::save_results((fs::path(options.folder) / "results.json").string(), results);
  }
  write_and_print_report(options.folder);
}

struct CompareOptions {
  std::vector<std::string> folders;
  std::string out = "comparison";
};

}  // namespace

void write_and_print_report(const std::string& folder) {
  print_and_write(report::summarize(results_in(folder)), folder);
}

void add_report_command(Commands& commands) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App& command = commands.add("report", "Table, plots and one HTML page from the results of bough run",
                                   [options] { report_again(*options); });
  command.add_option("folder", options->folder, "What bough run --out was told")->type_name("DIR")->required();
  command.add_option("--note", options->note, "Something to say about these results; kept with them, empty = nothing")
      ->type_name("TEXT");
}

void add_compare_command(Commands& commands) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App& command = commands.add("compare", "One report from the results of several experiments", [options] {
    std::vector<runner::Results> all;
    for (const std::string& folder : options->folders) all.push_back(results_in(folder));
    print_and_write(report::summarize(report::combine(std::move(all))), options->out);
  });
  command.add_option("folders", options->folders, "Folders that bough run wrote")->type_name("DIR")->required();
  command.add_option("--out", options->out, "Folder for the report")->type_name("DIR")->capture_default_str();
}

}  // namespace bough::cli
