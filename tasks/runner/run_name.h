#pragma once

#include <string>

#include "tasks/runner/sweep_axes.h"

/// Names of runs and experiments, which are names of folders too.
namespace bough::runner {

/// As a name of one file: everything but letters, digits, '.', '_' and '-' becomes '_', as does a '.' at the start, and
/// it ends after 120 characters. `otherwise` for an empty text.
std::string as_file_name(std::string text, const std::string& otherwise);

/// A short name for what a sweep sets: "bpt-k4", "causal-window-width8", "seed2". Empty for an empty text, list or
/// object.
std::string describe_setting(const std::string& path, const nlohmann::json& value);

/// Of a run: by what differs from the others of its sweep, patterns first and seeds last, as people read them; by its
/// graph if nothing does. Never empty.
std::string run_name(const std::vector<SweepAxis>& axes, const SweepPlace& place, const nlohmann::json& graph);

}  // namespace bough::runner
