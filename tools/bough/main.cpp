#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "tools/bough/command_line.h"
#include "tools/bough/kernel_trace.h"

namespace bough::cli {
namespace {

enum ExitCode { success = 0, failure = 1, usage = 2 };

int report(ExitCode code, std::string_view message) {
  fmt::print(stderr, "bough: {}\n", message);
  return code;
}

int parse_and_run(int argument_count, char** arguments) {
  const CommandLine given = parse_command_line(argument_count, arguments);
  if (given.help) {
    fmt::print("{}", *given.help);
    return success;
  }
  if (!given.problem.empty()) return report(usage, given.problem);
  if (given.threads) {
    try {
      set_num_threads(*given.threads);
    } catch (const ConfigError&) {
      return report(usage, fmt::format("--threads must be a number from 1 to 1024, not {}", *given.threads));
    }
  }
  num_threads();  // a BOUGH_THREADS that cannot be understood ends the program here, not in the middle of the work
  if (!given.run) {
    fmt::print(stderr, "{}", program_help());
    return usage;
  }
  std::optional<KernelTrace> trace;
  if (!given.kernel_trace.empty()) trace.emplace(given.kernel_trace);
  const int exit_code = given.run();
  if (trace) fmt::print(stderr, "{}", trace->summary());
  if (std::fflush(stdout) != 0)
    return report(failure, fmt::format("the output could not be written: {}", std::strerror(errno)));
  return exit_code;
}

}  // namespace

int run(int argument_count, char** arguments) noexcept {
  try {
    return parse_and_run(argument_count, arguments);
  } catch (const ConfigError& error) {
    return report(usage, error.what());
  } catch (const std::system_error& error) {
    // What fmt::print throws where stdout takes no more; errors of files have sentences of their own.
    const bool of_output = std::string_view(error.what()).starts_with("cannot write to file");
    return report(failure, of_output ? fmt::format("the output could not be written: {}", error.code().message())
                                     : std::string(error.what()));
  } catch (const std::exception& error) {
    return report(failure, error.what());
  } catch (...) {
    return report(failure, "something failed without saying what");
  }
}

}  // namespace bough::cli

int main(int argument_count, char** arguments) { return bough::cli::run(argument_count, arguments); }
