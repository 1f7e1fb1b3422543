#include "tasks/training/run_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "src/core/files.h"

namespace bough::training {

RunLog::RunLog(std::string path, const char* mode)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), mode), std::fclose) {
  if (file_ == nullptr) throw IoError("log", fmt::format("'{}' cannot be written: {}", path_, std::strerror(errno)));
}

RunLog RunLog::start(const std::string& path) { return {path, "wb"}; }

std::vector<nlohmann::json> read_log(const std::string& path) {
  std::vector<nlohmann::json> records;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (!record.is_object()) break;
    records.push_back(std::move(record));
  }
  return records;
}

RunLog RunLog::resume(const std::string& path, std::int64_t kept_steps) {
  std::string kept;
  std::ifstream old(path);
  for (std::string line; std::getline(old, line);) {
    const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (!record.is_object()) break;  // a line that a crash cut off
    if (record.value("step", std::int64_t{0}) <= kept_steps) kept += line + "\n";
  }
  AtomicFileWriter writer(path);
  writer.write(kept.data(), kept.size());
  writer.commit();
  return {path, "ab"};
}

void RunLog::write(const nlohmann::ordered_json& record) {
  const std::string line = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() || std::fflush(file_.get()) != 0) {
    throw IoError("log", fmt::format("'{}' cannot be written: {}", path_, std::strerror(errno)));
  }
}

}  // namespace bough::training
