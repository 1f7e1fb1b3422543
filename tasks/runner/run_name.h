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

/// "bpt" and "bpt-k4" begin "bpt-k4-seed1"; "bpt-k" and "bp" do not: a name ends where a word does.
bool begins_with_name(const std::string& text, const std::string& name);

/// Of a run: by what differs from the others of its sweep, patterns first and seeds last, as people read them, of a zip
/// by what tells its rows apart; by its graph if nothing does. Where graphs are told apart, one that asked for a
/// degree, which is `solved`, is named by `graph`, in which the degree has become the parameter of its pattern:
/// "bpt-k4". Never empty.
std::string run_name(const std::vector<SweepAxis>& axes, const SweepPlace& place, const nlohmann::json& graph,
                     bool solved);

}  // namespace bough::runner
