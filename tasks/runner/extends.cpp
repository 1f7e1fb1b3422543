#include "tasks/runner/extends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "tasks/registry.h"
#include "tasks/runner/sweep_axes.h"

namespace bough::runner {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Both say what they are, and it is not the same.
bool is_another_kind(const json& base, const json& change) {
  const auto before = base.find("kind"), now = change.find("kind");
  return before != base.end() && now != change.end() && *before != *now;
}

/// As a JSON merge patch (RFC 7396), but for objects of another kind.
void merge_values(json& base, const json& change) {
  if (!change.is_object()) {
    base = change;
    return;
  }
  if (!base.is_object() || is_another_kind(base, change)) base = json::object();
  for (const auto& [key, value] : change.items()) {
    value.is_null() ? void(base.erase(key)) : merge_values(base[key], value);
  }
}

/// What "task" and "model" are where they do not say of which kind.
std::map<std::string, std::string> default_kinds() {
  const tasks::Task& task = *tasks::all_tasks().front();
  std::map<std::string, std::string> kinds{{"task", task.name()}};
  for (const Parameter& parameter : task.model_parameters()) {
    if (parameter.name == "kind") kinds["model"] = parameter.choices.front();
  }
  return kinds;
}

/// Whether the experiment itself gives a value at a dotted path.
bool has_value_at(const json& source, const std::string& path) {
  const json* place = &source;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (!place->is_object() || !place->contains(path.substr(begin, end - begin))) return false;
    place = &(*place)[path.substr(begin, end - begin)];
    begin = end + 1;
  }
  return true;
}

std::string folder_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string find_extended(const std::string& name, const std::string& from, const ExtendsLookup& lookup) {
  std::vector<std::string> places{(fs::path(folder_of(from)) / name).string()};
  if (!fs::path(name).is_absolute()) {
    for (const std::string& folder : lookup.data_folders) places.push_back((fs::path(folder) / name).string());
  }
  std::error_code ignored;
  for (const std::string& place : places) {
    if (fs::is_regular_file(place, ignored)) return place;
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  throw IoError(
      "extends",
      fmt::format("there is no file '{}'{}; looked for {}{}", name,
                  from.empty() ? "" : fmt::format(", which '{}' extends", from), fmt::join(places, ", "),
                  from.empty() ? "; an experiment that is in no file looks in the current folder first" : ""));
}

/// The name that is to be extended, taken out of the experiment; empty if there is none.
std::string take_extends(json& source, const std::string& file) {
  const json name = source.value("extends", json());
  source.erase("extends");
  if (name.is_null()) return "";
  if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
    throw ConfigError("extends", fmt::format("must be the name of a file, not {}{}", json_excerpt(name),
                                             file.empty() ? "" : fmt::format(", in '{}'", file)));
  }
  return name.get<std::string>();
}

json read_extended(const std::string& file) {
  json source = read_json_file(file);
  if (source.is_object()) return source;
  throw ConfigError("extends", fmt::format("'{}' must hold a JSON object, not {}", file, json_excerpt(source)));
}

}  // namespace

void end_sweep_of(json& source, const std::string& path) {
  const auto found = source.find("sweep");
  if (found == source.end() || !found->is_object()) return;
  json& sweep = *found;
  sweep.erase(path);
  const auto zips = sweep.find(zip_key);
  if (zips == sweep.end()) return;
  if (zips->is_object()) {
    zips->erase(path);
  } else if (zips->is_array()) {
    for (json& zip : *zips) {
      if (zip.is_object()) zip.erase(path);
    }
    std::erase_if(zips->get_ref<json::array_t&>(), [](const json& zip) { return zip.is_object() && zip.empty(); });
  }
  if (zips->empty()) sweep.erase(zips);
}

json merge_experiment(json base, const json& change) {
  if (change.contains("sweep")) {
    base.erase("sweep");
  } else if (base.contains("sweep")) {
    for (const std::string& path : swept_paths(base["sweep"])) {
      if (has_value_at(change, path)) end_sweep_of(base, path);
    }
    if (base["sweep"].empty()) base.erase("sweep");
  }
  // A bare name stands for the pattern without parameters, so that parameters can be added to it.
  if (const auto graph = base.find("graph"); graph != base.end() && graph->is_string()) *graph = {{"kind", *graph}};
  for (const auto& [key, kind] : default_kinds()) {
    const auto before = base.find(key);
    const auto now = change.find(key);
    if (before == base.end() || !before->is_object() || before->contains("kind") || now == change.end()) continue;
    if (now->is_object() && now->contains("kind") && (*now)["kind"] != kind) base.erase(before);
  }
  merge_values(base, change);
  return base;
}

ExtendedExperiment with_extended(json source, const ExtendsLookup& lookup) {
  ExtendedExperiment result;
  if (!source.is_object()) return {.source = std::move(source), .files = {}, .folders = {}};
  std::vector<json> changes;
  std::vector<std::string> chain{lookup.file};
  std::error_code ignored;
  const auto identity = [&ignored](const std::string& file) { return fs::weakly_canonical(file, ignored); };
  for (std::string name; !(name = take_extends(source, chain.back())).empty();) {
    const std::string file = find_extended(name, chain.back(), lookup);
    const bool seen = std::ranges::any_of(
        chain, [&](const std::string& other) { return !other.empty() && identity(other) == identity(file); });
    chain.push_back(file);
    if (seen) {
      if (chain.front().empty()) chain.front() = "the experiment";
      throw ConfigError("extends", fmt::format("{}: such a chain must end", fmt::join(chain, " extends ")));
    }
    changes.push_back(std::move(source));
    source = read_extended(file);
    result.files.push_back(file);
    if (const std::string folder = folder_of(file); std::ranges::count(result.folders, folder) == 0) {
      result.folders.push_back(folder);
    }
  }
  for (; !changes.empty(); changes.pop_back()) source = merge_experiment(std::move(source), changes.back());
  result.source = std::move(source);
  return result;
}

}  // namespace bough::runner
