#pragma once

#include <sys/types.h>

#include <memory>
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

class Capture;

/// The command line `bough` of this build while it runs. BOUGH_THREADS is unset unless given.
class RunningProgram {
 public:
  explicit RunningProgram(const std::vector<std::string>& arguments, const ProgramOptions& options = {});
  /// Ends it if it still runs.
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// What it has written to stdout so far.
  std::string output() const;
  bool has_ended();
  /// As Ctrl-C does.
  void interrupt();
  /// Waits for its end.
  ProgramResult result();

 private:
  std::unique_ptr<Capture> output_, errors_;
  pid_t process_ = 0;
  bool ended_ = false;
  int status_ = 0;
};

/// Runs the command line `bough` of this build to its end. BOUGH_THREADS is unset unless given.
ProgramResult run_bough(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

}  // namespace bough::test
