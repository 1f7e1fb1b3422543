#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bough::test {

struct ProgramResult {
  int exit_code = -1;  ///< negative: ended by that signal
  std::string output;  ///< stdout
  std::string errors;  ///< stderr
};

struct ProgramOptions {
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< added to the test's own
  std::string output_file = {};                                       ///< stdout goes there instead of into the result
  std::string input_file = "/dev/null";                               ///< stdin comes from there
  std::string working_folder = {};                                    ///< other than the test's own
};

/// Runs the command line `bough` of this build to its end. BOUGH_THREADS is unset unless given.
ProgramResult run_bough(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

}  // namespace bough::test
