#pragma once

#include <string>
#include <vector>

#include "tasks/runner/experiment.h"
#include "tasks/runner/sweep_axes.h"

/// What an experiment must be beside what its table of keys says. Unknown keys, types and ranges are refused by
/// ParameterTable::read (src/config/settings.cpp).
namespace bough::runner {

/// Only what decides a run may be swept: paths in task, model, graph and train. ConfigError that names the place and
/// the path that was probably meant.
void require_sweepable(const std::vector<SweepAxis>& axes, const ParameterTable& table);

/// Values that every run of a sweep replaces must be allowed too: they count once --set ends the sweep.
/// `source` is the experiment without its sweep, `first` one with the settings of a run. ConfigError as of the table.
void require_valid_below_sweep(const nlohmann::json& source, nlohmann::json first, const ParameterTable& table);

/// A focus must be the kind of a graph, or what a run's name begins with. ConfigError with the kinds that there are.
void require_known_focus(const nlohmann::json& source, const std::vector<PlannedRun>& runs);

/// A graph specification with the defaults of its pattern and of its parts: equal for specifications that mean the
/// same. As it is where its pattern is not known or refuses it.
nlohmann::json completed_graph(nlohmann::json graph);

}  // namespace bough::runner
