#include "tasks/machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "bough/core/parallel.h"
#include "bough/core/version.h"

namespace bough {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown";
}

}  // namespace

nlohmann::json describe_host() {
  const BuildInformation build = build_information();
  return {{"processor", processor_name()},
          {"cores", std::thread::hardware_concurrency()},
          {"threads", num_threads()},
          {"bough", build.version},
          {"compiler", build.compiler},
          {"build_type", build.build_type},
          {"instruction_set", build.instruction_set}};
}

double ProcessorTime::waited_share() const {
  const double wanted = used_seconds + waited_seconds;
  return wanted > 0 ? waited_seconds / wanted : 0;
}

std::optional<ProcessorTime> processor_time() {
  namespace fs = std::filesystem;
  ProcessorTime total;
  bool known = false;
  std::error_code error;
  for (fs::directory_iterator thread("/proc/self/task", error), end; !error && thread != end; thread.increment(error)) {
    // Nanoseconds on a processor, nanoseconds ready for one, number of turns.
    std::ifstream file(thread->path() / "schedstat");
    double used = 0, waited = 0;
    if (!(file >> used >> waited)) continue;
    total.used_seconds += used / 1e9;
    total.waited_seconds += waited / 1e9;
    known = true;
  }
  if (!known) return {};
  return total;
}

std::optional<std::int64_t> available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kilobytes = 0;
  for (std::string unit; file >> name >> kilobytes >> unit;) {
    if (name == "MemAvailable:") return kilobytes * 1024;
  }
  return {};
}

}  // namespace bough
