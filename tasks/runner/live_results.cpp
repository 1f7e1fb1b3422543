#include "tasks/runner/live_results.h"

#include <fmt/format.h>

#include <filesystem>

#include "tasks/training/run_log.h"

namespace bough::runner {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

fs::path log_of(const std::string& folder, const std::string& run) {
  return fs::path(folder) / "runs" / run / training::log_file;
}

/// Takes over what the log of an unfinished run says.
void add_log(RunResult& run, const fs::path& log) {
  std::vector<CurvePoint> curve;
  double tokens_per_second = 0;
  for (json record : training::read_log(log.string())) {
    if (!record.contains("loss") || !record.contains("step") || !record.contains("seconds")) continue;
    if (const json speed = record.value("tokens_per_second", json()); speed.is_number()) tokens_per_second = speed;
    record.erase("tokens_per_second");
    curve.push_back(training::curve_point_from(record));
  }
  if (curve.empty()) return;
  run.steps_done = curve.back().step;
  run.train_seconds = curve.back().seconds;
  run.tokens_per_second = tokens_per_second;
  run.curve = std::move(curve);
}

/// A file as far as its folder tells.
std::string state_of(const fs::path& file) {
  std::error_code size_error, time_error;
  const auto size = fs::file_size(file, size_error);
  const auto time = fs::last_write_time(file, time_error);
  if (size_error || time_error) return "-";
  return fmt::format("{:x}.{:x}", size, time.time_since_epoch().count());
}

}  // namespace

Results load_live_results(const std::string& folder) {
  Results results = load_results((fs::path(folder) / "results.json").string());
  for (RunResult& run : results.runs) {
    if (run.status == RunStatus::running) add_log(run, log_of(folder, run.name));
  }
  return results;
}

std::string live_version(const std::string& folder) {
  std::string state = state_of(fs::path(folder) / "results.json");
  std::error_code error;
  for (fs::directory_iterator run(fs::path(folder) / "runs", error), end; !error && run != end; run.increment(error)) {
    state += fmt::format(" {}:{}", run->path().filename().string(),
                         state_of(log_of(folder, run->path().filename().string())));
  }
  return fmt::format("{:016x}", std::hash<std::string>()(state));
}

}  // namespace bough::runner
