#include "tasks/runner/experiment_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "bough/core/errors.h"
#include "src/core/nearest_name.h"

namespace bough::runner {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> parts_of_runs{"task", "model", "graph", "train"};

bool decides_runs(const std::string& path) {
  return std::ranges::find(parts_of_runs, std::string_view(path).substr(0, path.find('.'))) != parts_of_runs.end();
}

/// "train.learning_rate" for "learning_rate" or "train.lerning_rate".
std::string path_meant(const std::string& path, const ParameterTable& table) {
  std::vector<std::string> keys, paths;
  for (const Parameter& object : table.parameters()) {
    if (!decides_runs(object.name)) continue;
    for (const Parameter& parameter : object.fields) {
      keys.push_back(parameter.name);
      paths.push_back(object.name + "." + parameter.name);
    }
  }
  const std::string key = nearest_name(path.substr(path.rfind('.') + 1), keys);
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? "" : paths[static_cast<std::size_t>(found - keys.begin())];
}

bool is_known_kind(const std::string& name) {
  const std::vector<GeneratorDescription> all = generators().list();
  return std::ranges::find(all, name, &GeneratorDescription::name) != all.end();
}

}  // namespace

void require_sweepable(const std::vector<SweepAxis>& axes, const ParameterTable& table) {
  for (const SweepAxis& axis : axes) {
    for (const SweepColumn& column : axis.columns) {
      if (decides_runs(column.path)) continue;
      const std::string meant = path_meant(column.path, table);
      throw ConfigError(column.place, fmt::format("only values of {} make runs differ, and '{}' is none of them{}",
                                                  fmt::join(parts_of_runs, ", "), column.path,
                                                  meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant)));
    }
  }
}

void require_valid_below_sweep(const json& source, json first, const ParameterTable& table) {
  for (const char* part : {"task", "model", "train"}) {
    if (source.contains(part) && source[part].is_object()) first[part].merge_patch(source[part]);
  }
  table.read("experiment", first);
}

void require_known_focus(const json& source, const std::vector<PlannedRun>& runs) {
  const auto focus = source.find("focus");
  if (focus == source.end() || !focus->is_string()) return;
  const std::string name = focus->get<std::string>();
  // A pattern that no run has is no mistake: --set may have taken its runs away.
  if (name.empty() || is_known_kind(name)) return;
  std::set<std::string> kinds;
  for (const PlannedRun& run : runs) {
    const std::string graph = describe_setting("graph", run.config.at("graph"));
    if (begins_with_name(run.name, name) || begins_with_name(graph, name)) return;
    kinds.insert(run.config.at("graph").value("kind", ""));
  }
  const std::string nearest = nearest_name(name, std::vector<std::string>(kinds.begin(), kinds.end()));
  // Combinations are named with their parts: "union(bpt+window)".
  if (kinds.contains(name.substr(0, name.find('(')))) return;
  throw ConfigError("focus", fmt::format("no run is about '{}'{}; kinds of graphs here: {}; what names of runs begin "
                                         "with will do too",
                                         name, nearest.empty() ? "" : fmt::format(", did you mean \"{}\"?", nearest),
                                         fmt::join(kinds, ", ")));
}

json completed_graph(json graph) {
  if (!graph.is_object()) return graph;
  for (json& entry : graph) {
    if (entry.is_object()) entry = completed_graph(entry);
    if (!entry.is_array()) continue;
    for (json& part : entry) part = completed_graph(part);
  }
  const auto kind = graph.find("kind");
  if (kind == graph.end() || !kind->is_string()) return graph;
  const std::string name = *kind;
  try {
    json parameters = graph;
    parameters.erase("kind");
    json values = generators().describe(name).parameters.read(name, parameters).values();
    values["kind"] = name;
    return values;
  } catch (const ConfigError&) {
    return graph;
  }
}

}  // namespace bough::runner
