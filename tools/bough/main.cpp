#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "src/core/nearest_name.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

enum ExitCode { success = 0, failure = 1, usage = 2 };

int report(ExitCode code, std::string_view message) {
  fmt::print(stderr, "bough: {}\n", message);
  return code;
}

std::string suggestion(std::string_view wanted, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(wanted, known);
  return nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest);
}

std::vector<std::string> option_names(const CLI::App& program, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app : {&command, &program}) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string where_help_is(const CLI::App& program) {
  const auto parsed = program.get_subcommands();
  return parsed.empty() ? "see bough --help" : fmt::format("see bough {} --help", parsed.front()->get_name());
}

/// What to say about an argument that no command or option takes.
std::string describe_unexpected(const std::string& argument, const CLI::App& program, const Commands& commands) {
  const auto parsed = program.get_subcommands();
  if (argument.starts_with('-')) {
    const CLI::App& command = parsed.empty() ? program : *parsed.front();
    return fmt::format("there is no option '{}'{}", argument, suggestion(argument, option_names(program, command)));
  }
  if (!parsed.empty()) return fmt::format("'{}' was not expected", argument);
  return fmt::format("there is no command '{}'{}", argument, suggestion(argument, commands.names()));
}

/// A mistyped name often makes something else look missing, so it comes first.
std::string describe(const CLI::ParseError& error, const CLI::App& program, const Commands& commands) {
  const std::vector<std::string> unexpected = program.remaining(true);
  const std::string problem =
      unexpected.empty() ? error.what() : describe_unexpected(unexpected.front(), program, commands);
  return fmt::format("{}; {}", problem, where_help_is(program));
}

int parse_and_run(int argument_count, char** arguments) {
  CLI::App program("Message passing on graphs: attention graphs, kernels, training.", "bough");
  std::optional<int> threads;
  program.add_option("--threads", threads, "Number of threads; otherwise BOUGH_THREADS, otherwise all cores")
      ->type_name("N");

  Commands commands(program);
  add_bench_command(commands);
  add_compare_command(commands);
  add_generate_command(commands);
  add_generators_command(commands);
  add_graph_command(commands);
  add_report_command(commands);
  add_run_command(commands);
  add_run_worker_command(commands);
  add_version_command(commands);

  try {
    program.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", program.help());
    return success;
  } catch (const CLI::ParseError& error) {
    return report(usage, describe(error, program, commands));
  }
  if (threads) set_num_threads(*threads);
  num_threads();  // a BOUGH_THREADS that cannot be understood ends the program here, not in the middle of the work
  if (!commands.run()) {
    fmt::print(stderr, "{}", program.help());
    return usage;
  }
  if (std::fflush(stdout) != 0)
    return report(failure, fmt::format("the output could not be written: {}", std::strerror(errno)));
  return success;
}

}  // namespace

int run(int argument_count, char** arguments) noexcept {
  try {
    return parse_and_run(argument_count, arguments);
  } catch (const ConfigError& error) {
    return report(usage, error.what());
  } catch (const std::exception& error) {
    return report(failure, error.what());
  } catch (...) {
    return report(failure, "something failed without saying what");
  }
}

}  // namespace bough::cli

int main(int argument_count, char** arguments) { return bough::cli::run(argument_count, arguments); }
