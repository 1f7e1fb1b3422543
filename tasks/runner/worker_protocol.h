#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bough/tasks/run_experiment.h"
#include "tasks/runner/results.h"

/// What a sweep and the processes that train its runs say to each other:
///
///     sweep  -> worker   one WorkerRequest, JSON on the worker's stdin, which is then closed
///     worker -> sweep    one line of JSON on its stdout for each message: {"progress": {...}} about twice a
///                        second, and at the end {"result": {...}}, the entry of results.json
///     sweep  -> worker   SIGTERM: save and end; the result then says "running"
///
/// The worker ends with exit code 0, or 1 if its run has failed. One that ends without a result has failed too, unless
/// it was told to end. Its stderr is that of the sweep. The two ends are in worker.h; the process that sends the
/// request is in run_sweep.cpp.
namespace bough::runner {

struct WorkerRequest {
  std::string name;                 ///< of the run
  nlohmann::json settings, config;  ///< as in PlannedRun: checked by the sweep, not again by the worker
  std::string folder;               ///< of the run
  bool resume = false;
  bool tensorboard = false;
  int threads = 1;
  std::vector<std::string> data_folders = {};
  Device device = Device::cpu();
  bool tf32 = false;
  std::vector<std::string> plugins = {};  ///< libraries to load before anything else
  RunInputs inputs = {};
};
nlohmann::json to_json(const WorkerRequest& request);
/// IoError if something is missing or of another type.
WorkerRequest worker_request_from(const std::string& text);

using WorkerMessage = std::variant<RunProgress, RunResult>;
/// With its line break. Numbers that are not finite become null, and NaN when they are read.
std::string to_line(const WorkerMessage& message);
/// Nothing for a line that is no message: a library may have printed it. IoError for a message with something missing.
std::optional<WorkerMessage> message_in(const std::string& line);

}  // namespace bough::runner
