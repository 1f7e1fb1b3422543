#include "tools/bough/result_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/graph_generator.h"
#include "tasks/recorded_plugins.h"

namespace bough::cli {
namespace {

namespace fs = std::filesystem;

const fs::path all_results = "results";

/// Whether new_folder gives this name for the experiment.
bool is_folder_of(const std::string& folder, const std::string& name) {
  if (folder == name) return true;
  if (!folder.starts_with(name + "-")) return false;
  const std::string number = folder.substr(name.size() + 1);
  return !number.empty() && std::ranges::all_of(number, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// When results of that experiment in the folder changed; nothing if it holds none. Results of earlier versions do not
/// tell: the time of their file, which `bough report --note` changes too, stands for it.
std::optional<std::string> time_of_results(const fs::path& folder, const std::string& name) {
  const fs::path file = folder / "results.json";
  try {
    const runner::Results results = runner::load_results(file.string());
    if (results.name != name) return {};
    if (!results.changed_at.empty()) return results.changed_at;
    const auto time = std::chrono::file_clock::to_sys(fs::last_write_time(file));
    return runner::time_in_words(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  } catch (const Error&) {
    return {};
  }
}

void require_absent(const fs::path& file, const char* reason) {
  if (!fs::exists(file)) return;
  throw ConfigError("report", fmt::format("'{}' is there and {}; choose another --out", file.string(), reason));
}

/// "the pattern 'every_second'".
std::string pattern_in_words(const nlohmann::json& graph) {
  const nlohmann::json kind = graph.is_object() ? graph.value("kind", nlohmann::json()) : nlohmann::json();
  return kind.is_string() ? fmt::format("the pattern '{}'", kind.get<std::string>()) : json_excerpt(graph);
}

}  // namespace

std::string new_folder(const std::string& name) {
  const std::string first = (all_results / name).string();
  std::string folder = first;
  for (int number = 2; fs::exists(folder); ++number) folder = fmt::format("{}-{}", first, number);
  return folder;
}

std::string last_folder(const std::string& name) {
  std::optional<std::string> latest;
  std::string result;
  std::error_code error;
  for (fs::directory_iterator entry(all_results, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path folder = entry->path();
    if (!is_folder_of(folder.filename().string(), name)) continue;
    const std::optional<std::string> changed = time_of_results(folder, name);
    if (!changed || (latest && *changed <= *latest)) continue;
    latest = changed;
    result = folder.string();
  }
  if (latest) return result;
  throw ConfigError("run", fmt::format("there are no results of the experiment '{}' in '{}' to go on with; --out names "
                                       "their folder if they are elsewhere",
                                       name, all_results.string()));
}

void require_results(const std::string& folder, const std::string& command) {
  if (fs::exists(fs::path(folder) / "results.json")) return;
  const char* const state = !fs::exists(folder)         ? "is not there"
                            : !fs::is_directory(folder) ? "is a file, not a folder"
                                                        : "holds no results.json";
  throw IoError(command,
                fmt::format("'{}' {}; name a folder that bough run has written, such as results/NAME", folder, state));
}

void load_plugins_for_pictures(const runner::Results& results) {
  std::set<std::string> told;
  for (const runner::RunResult& run : results.runs) {
    const nlohmann::json graph = run.config.value("graph", nlohmann::json());
    if (results.picture_of(graph) != nullptr || !told.insert(graph.dump()).second) continue;
    try {
      tasks::load_recorded_plugins(graph, run.plugins);
      generators().make(graph);
    } catch (const Error&) {
      fmt::print(stderr, "bough: no picture of {}, which is not known here; --plugin FILE gives its library\n",
                 pattern_in_words(graph));
    }
  }
}

void require_place_for_report(const std::string& folder) {
  if (fs::exists(fs::path(folder) / "results.json")) return;
  for (const char* file : {"report.html", "summary.csv", "summary.json"}) {
    require_absent(fs::path(folder) / file, "no bough run has written it, since it has no results.json beside it");
  }
}

void require_place_for_comparison(const std::string& folder) {
  const fs::path place(folder);
  require_absent(place / "results.json", "the report of these results would be replaced");
  if (!fs::exists(place / "summary.json")) {
    require_absent(place / "report.html", "no bough compare has written it, since it has no summary.json beside it");
  }
}

}  // namespace bough::cli
