#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// Which plug-ins the graph of a run needs: written down with its results and checkpoints, and loaded again by the
/// commands that use them.
namespace bough::tasks {

/// Name of the note in checkpoints: a JSON list of files.
inline constexpr const char* plugins_note = "plugins";

/// Files of all plug-ins of this process.
std::vector<std::string> loaded_plugins();

/// Files of the libraries that the patterns of a graph specification come from, those of its parts included.
std::vector<std::string> plugins_of(const nlohmann::json& graph);

/// Loads them again, unless all patterns of the graph are there already. ConfigError naming the pattern, the library
/// that is missing and the option that gives it.
void load_recorded_plugins(const nlohmann::json& graph, const std::vector<std::string>& libraries);

}  // namespace bough::tasks
