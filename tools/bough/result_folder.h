#pragma once

#include <string>

#include "tasks/runner/results.h"

/// Where results of bough run are, and what of a folder it may replace.
namespace bough::cli {

/// results/<name>, or the first of results/<name>-2, -3, ... that is not there yet.
std::string new_folder(const std::string& name);
/// The one of these folders in which a run of that experiment began or ended last. ConfigError if there is none.
std::string last_folder(const std::string& name);

/// IoError from that command if there are no results in the folder.
void require_results(const std::string& folder, const std::string& command);

/// Results keep a picture of each graph; those of earlier versions do not, and need the plug-ins that they were made
/// with, which are loaded here. What cannot be drawn is said on stderr.
void load_plugins_for_pictures(const runner::Results& results);

/// ConfigError if a report in the folder would replace files that are not the report of the results there.
void require_place_for_report(const std::string& folder);
/// The same for a report that is not made from results in its own folder.
void require_place_for_comparison(const std::string& folder);

}  // namespace bough::cli
