#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bough::training {

/// The name of the log in a run's folder.
inline constexpr const char* log_file = "log.jsonl";

/// The whole records of a log, up to a line that a crash cut off or that is being written; none if there is no file.
std::vector<nlohmann::json> read_log(const std::string& path);

/// A file of JSON objects, one a line, flushed after each: what a crash leaves is whole lines.
class RunLog {
 public:
  /// Starts anew, or goes on after the last record whose "step" is not above kept_steps; later ones belong to steps
  /// that will be taken again. IoError naming the path if it cannot be written.
  static RunLog start(const std::string& path);
  static RunLog resume(const std::string& path, std::int64_t kept_steps);

  void write(const nlohmann::ordered_json& record);

 private:
  RunLog(std::string path, const char* mode);

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace bough::training
