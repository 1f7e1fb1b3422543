#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tasks/runner/worker_protocol.h"

namespace bough::runner {

/// The sweep's end of a worker: another process that trains one run. It is in a process group of its own, so that
/// Ctrl-C reaches it only through interrupt().
class WorkerProcess {
 public:
  /// IoError if the program cannot be started.
  WorkerProcess(const std::string& program, const WorkerRequest& request);
  /// Ends the process if it still runs.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Readable when there is something to say.
  int output() const { return output_; }
  /// Messages that have come; call when output() is readable. finished() is true once there will be no more.
  std::vector<WorkerMessage> read_messages();
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
  std::string buffer_;  ///< the part of a line that has come
};

/// The worker's end: reads its request from stdin, trains, and writes messages to stdout. Returns the exit code.
int serve_worker();

}  // namespace bough::runner
