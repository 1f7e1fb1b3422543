#pragma once

#include <string>

#include "tasks/runner/results.h"

/// Results of an experiment that is under way. results.json is replaced when a run starts or ends; what a run has done
/// in between stands in its log.
namespace bough::runner {

/// The results in a folder, with the curves, steps and speed that the logs of unfinished runs have. Errors as
/// load_results; a log that is missing or cut off adds what it holds.
Results load_live_results(const std::string& folder);

/// Another text whenever load_live_results may give something else. Looks at sizes and times of files only.
std::string live_version(const std::string& folder);

}  // namespace bough::runner
