#include "tasks/recorded_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/plugin.h"

namespace bough::tasks {
namespace {

using nlohmann::json;

/// All texts in a specification: the kinds of its patterns are among them.
void collect_texts(const json& graph, std::set<std::string>& texts) {
  if (graph.is_string()) texts.insert(graph.get<std::string>());
  if (!graph.is_structured()) return;
  for (const json& entry : graph) collect_texts(entry, texts);
}

/// Of the patterns whose name `wanted` lets through.
template <typename Wanted>
std::vector<std::string> libraries_of(const Wanted& wanted) {
  std::vector<std::string> libraries;
  for (const GeneratorDescription& description : generators().list()) {
    const bool in_a_library = description.origin != "built in" && description.origin != "this program";
    if (!in_a_library || !wanted(description.name)) continue;
    if (std::ranges::find(libraries, description.origin) == libraries.end()) libraries.push_back(description.origin);
  }
  return libraries;
}

/// "the graph 'every_second'": the pattern within, where others are around it.
std::string in_words(const json& graph) {
  const json* pattern = &graph;
  while (pattern->is_object() && pattern->contains("of") && !pattern->at("of").is_array()) pattern = &pattern->at("of");
  const json kind = pattern->is_object() ? pattern->value("kind", json()) : *pattern;
  return kind.is_string() ? fmt::format("the graph '{}'", kind.get<std::string>()) : "the graph " + json_excerpt(graph);
}

bool all_patterns_known(const json& graph) {
  try {
    generators().make(graph);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> loaded_plugins() {
  return libraries_of([](const std::string&) { return true; });
}

std::vector<std::string> plugins_of(const json& graph) {
  std::set<std::string> texts;
  collect_texts(graph, texts);
  return libraries_of([&](const std::string& pattern) { return texts.contains(pattern); });
}

void load_recorded_plugins(const json& graph, const std::vector<std::string>& libraries) {
  if (libraries.empty() || all_patterns_known(graph)) return;
  for (const std::string& library : libraries) {
    // A name without a folder is one that the system looked up.
    const bool is_path = library.find('/') != std::string::npos;
    if (is_path && !std::filesystem::exists(library)) {
      throw ConfigError(
          "plug-in",
          fmt::format("{} comes from the library '{}', which is not there; say where it is with --plugin FILE "
                      "(RunOptions::plugins)",
                      in_words(graph), library));
    }
    load_plugin(library);
  }
}

}  // namespace bough::tasks
