#include "tools/report/differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "bough/core/json.h"
#include "tasks/training/continuation.h"

namespace bough::report {
namespace {

using nlohmann::json;
using Leaves = std::map<std::string, json>;

void collect_leaves(const json& value, const std::string& path, Leaves& leaves) {
  if (!value.is_object()) {
    leaves[path] = value;
    return;
  }
  for (const auto& [key, entry] : value.items()) collect_leaves(entry, path.empty() ? key : path + "." + key, leaves);
}

/// Before the name of a data file: its hash stands for what is in it.
constexpr const char* content_of = "content of ";

/// What a run was made with, by dotted path, without what reports show anyway and what changes no result.
Leaves leaves_of(const runner::RunResult& run) {
  json config = runner::completed_config(run.config);
  config.erase("graph");
  if (config.contains("train")) {
    config["train"] = training::without_logging(config["train"]);
    config["train"].erase("seed");
  }
  Leaves leaves;
  collect_leaves(config, "", leaves);
  for (const runner::DataFile& file : run.inputs.data_files) leaves[content_of + file.name] = file.hash;
  return leaves;
}

bool is_set_by_sweep(const runner::RunResult& run, const std::string& path) {
  const auto within = [](const std::string& inner, const std::string& outer) {
    return inner == outer || inner.starts_with(outer + ".");
  };
  return std::ranges::any_of(run.settings.items(), [&](const auto& setting) {
    return within(path, setting.key()) || within(setting.key(), path);
  });
}

std::string values_in_words(const std::set<json>& values) {
  constexpr std::size_t shown = 4;
  std::vector<std::string> texts;
  for (const json& value : values) {
    if (texts.size() == shown) {
      texts.emplace_back("...");
      break;
    }
    texts.push_back(value.is_null() ? "default" : json_excerpt(value));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// What may change results where the configuration is the same: "commit", "libraries.oneTBB".
void collect_builds(const runner::RunResult& run, std::map<std::string, std::set<json>>& values) {
  for (const json& machine : run.machines) {
    if (!machine.is_object()) continue;
    Leaves leaves;
    for (const char* key : {"bough", "commit", "compiler", "libraries"}) {
      if (machine.contains(key)) collect_leaves(machine[key], key, leaves);
    }
    for (const auto& [path, value] : leaves) values[path].insert(value);
  }
}

/// Empty unless runs were made by different builds of bough; runs of earlier versions that do not tell differ in
/// nothing.
std::string different_builds(const std::vector<runner::RunResult>& runs) {
  std::map<std::string, std::set<json>> values;
  for (const runner::RunResult& run : runs) collect_builds(run, values);
  std::vector<std::string> parts;
  for (const auto& [path, different] : values) {
    if (different.size() > 1) parts.push_back(fmt::format("{} ({})", path, values_in_words(different)));
  }
  return parts.empty() ? "" : fmt::format("made by different builds of bough: {}", fmt::join(parts, ", "));
}

void add_to_note(const std::string& sentence, runner::Results& results) {
  if (!sentence.empty()) results.note += (results.note.empty() ? "" : "; ") + sentence;
}

}  // namespace

void mark_differences(runner::Results& results) {
  std::vector<Leaves> configs;
  std::map<std::string, std::set<json>> values;
  for (const runner::RunResult& run : results.runs) {
    for (const auto& [path, value] : configs.emplace_back(leaves_of(run))) values[path];
  }
  std::vector<std::string> sentences;
  for (auto& [path, different] : values) {
    const auto value_in = [&](const Leaves& leaves) {
      const auto found = leaves.find(path);
      return found == leaves.end() ? json() : found->second;
    };
    // Runs that do not read a file, or were made by an earlier version, do not differ in it.
    const auto concerns = [&](const Leaves& leaves) { return !path.starts_with(content_of) || leaves.contains(path); };
    for (const Leaves& leaves : configs) {
      if (concerns(leaves)) different.insert(value_in(leaves));
    }
    if (different.size() < 2) continue;
    bool hidden = false;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      if (is_set_by_sweep(results.runs[i], path) || !concerns(configs[i])) continue;
      results.runs[i].settings[path] = value_in(configs[i]);
      hidden = true;
    }
    if (hidden) sentences.push_back(fmt::format("{} ({})", path, values_in_words(different)));
  }
  if (!sentences.empty()) {
    add_to_note(fmt::format("not the same in all runs: {}", fmt::join(sentences, ", ")), results);
  }
  add_to_note(different_builds(results.runs), results);
}

}  // namespace bough::report
