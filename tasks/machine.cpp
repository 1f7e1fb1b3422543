#include "tasks/machine.h"

#include <fmt/format.h>
#include <oneapi/tbb/version.h>
#include <unicode/uversion.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

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

double seconds_of_ticks(double ticks) { return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)); }

/// Ticks of a process and of those that it has started, whether they have ended or not.
double ticks_of_tree(pid_t process) {
  namespace fs = std::filesystem;
  const fs::path place = fs::path("/proc") / std::to_string(process);
  std::ifstream file(place / "stat");
  std::string line;
  if (!std::getline(file, line)) return 0;
  // The name, the second field, may hold anything; user, system and those of children that have ended are the 14th to
  // 17th.
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double total = 0;
  for (int field = 14; field <= 17; ++field) {
    double ticks = 0;
    fields >> ticks;
    total += ticks;
  }
  std::error_code error;
  for (fs::directory_iterator thread(place / "task", error), end; !error && thread != end; thread.increment(error)) {
    std::ifstream children(thread->path() / "children");
    for (pid_t child = 0; children >> child;) total += ticks_of_tree(child);
  }
  return total;
}

}  // namespace

nlohmann::json library_versions() {
  UVersionInfo icu{};
  u_getVersion(icu);
  std::array<char, U_MAX_VERSION_STRING_LENGTH> icu_text{};
  u_versionToString(icu, icu_text.data());
  nlohmann::json versions = {
      {"oneTBB", TBB_runtime_version()},
      {"Highway", BOUGH_HIGHWAY_VERSION},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann-json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"ICU", icu_text.data()},
      {"zlib", zlibVersion()}};
  // Of what a build may lack, the versions that it was built with; empty where it was built without.
  for (const auto& [name, version] : {std::pair("SentencePiece", std::string_view(BOUGH_SENTENCEPIECE_VERSION)),
                                      std::pair("CUDA", std::string_view(BOUGH_CUDA_VERSION)),
                                      std::pair("cuBLAS", std::string_view(BOUGH_CUBLAS_VERSION))}) {
    if (!version.empty()) versions[name] = version;
  }
  return versions;
}

nlohmann::json describe_host() {
  const BuildInformation build = build_information();
  return {{"processor", processor_name()},
          {"cores", std::thread::hardware_concurrency()},
          {"threads", num_threads()},
          {"bough", build.version},
          {"commit", build_commit},
          {"compiler", build.compiler},
          {"libraries", library_versions()},
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

double MachineTime::other_share() const { return all_seconds > 0 ? other_seconds / all_seconds : 0; }

std::optional<MachineTime> machine_time(pid_t own) {
  std::ifstream file("/proc/stat");
  std::string name;
  // The time of guests is part of user and nice.
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
  if (!(file >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >> stolen))
    return {};
  const double busy = user + nice + system + interrupts + soft_interrupts + stolen;
  return MachineTime{.all_seconds = seconds_of_ticks(busy + idle + waiting),
                     .other_seconds = seconds_of_ticks(busy - ticks_of_tree(own))};
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
