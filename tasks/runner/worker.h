#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tasks/runner/train_run.h"

namespace bough::runner {

nlohmann::json to_json(const RunProgress& progress);
RunProgress run_progress_from(const nlohmann::json& entry);

/// Another process that trains one run: JSON in, a line of JSON for each thing it has to say out. It is in a process
/// group of its own, so that Ctrl-C reaches it only through interrupt().
class WorkerProcess {
 public:
  /// IoError if the program cannot be started.
  WorkerProcess(const std::string& program, const nlohmann::json& request);
  /// Ends the process if it still runs.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Readable when there is something to say.
  int output() const { return output_; }
  /// Complete lines that have come; call when output() is readable. finished() is true once there will be no more.
  std::vector<nlohmann::json> read_lines();
  bool finished() const { return finished_; }
  /// Asks it once to save and end.
  void interrupt();
  bool told_to_end() const { return told_to_end_; }
  /// After finished(): why it ended, in words, for a process that gave no result.
  std::string wait_for_end();

 private:
  pid_t process_ = -1;
  int output_ = -1;
  bool finished_ = false, told_to_end_ = false;
  std::string buffer_;
};

}  // namespace bough::runner
