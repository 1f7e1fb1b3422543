#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <string>
#include <vector>

namespace bough::cli {

/// The commands of the program. A command is one file with one add_... function, listed below and in main.cpp.
class Commands {
 public:
  explicit Commands(CLI::App& program) : program_(program) {}

  /// Declares a command; the caller adds its options to what is returned. run is called after all arguments are parsed
  /// and the number of threads is set. It prints results to stdout and throws on failure: ConfigError ends the program
  /// with exit code 2, anything else with 1.
  CLI::App& add(const std::string& name, const std::string& description, std::function<void()> run);

  /// Runs the command that was given. False if there was none.
  bool run() const;
  std::vector<std::string> names() const;

 private:
  struct Entry {
    CLI::App* app;
    std::function<void()> run;
  };

  CLI::App& program_;
  std::vector<Entry> entries_;
};

void add_bench_command(Commands& commands);
void add_compare_command(Commands& commands);
void add_generate_command(Commands& commands);
void add_generators_command(Commands& commands);
void add_graph_command(Commands& commands);
void add_report_command(Commands& commands);
void add_run_command(Commands& commands);
void add_run_worker_command(Commands& commands);
void add_version_command(Commands& commands);

/// What `bough report` does, which `bough run` ends with too.
void write_and_print_report(const std::string& folder);

}  // namespace bough::cli
