#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tools/bough/manual.h"

namespace bough::cli {

struct CommandLine {
  /// The command that was given, with its options; returns the exit code. Empty if there was none.
  std::function<int()> run = {};
  std::optional<int> threads = {};       ///< of --threads
  std::string kernel_trace = {};         ///< of --trace-kernels
  std::optional<std::string> help = {};  ///< what --help or --version asked for
  std::string problem = {};              ///< what cannot be understood, in one sentence; empty if all is well
};

CommandLine parse_command_line(int argument_count, char** arguments);

/// The help text of the whole program.
std::string program_help();

/// The same for programs.
ProgramHelp describe_program();

}  // namespace bough::cli
