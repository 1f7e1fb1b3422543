#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// "extends": experiments that say only how they differ from another one.
namespace bough::runner {

/// Where an experiment comes from and where the file that it extends is looked up.
struct ExtendsLookup {
  std::string file = {};  ///< of the experiment; empty: it has none, and the current folder stands for that of the file
  std::vector<std::string> data_folders = {};  ///< after the folder of the file
};

/// An experiment with what it has taken over.
struct ExtendedExperiment {
  nlohmann::json source;             ///< without "extends"
  std::vector<std::string> files;    ///< those that were extended, the nearest first
  std::vector<std::string> folders;  ///< theirs, where data is looked up last
};

/// Replaces "extends" by the content of that file and of those that it extends in turn, changed by merge_experiment.
/// ConfigError naming the chain for one that does not end, and for a name that is no text; IoError naming all places
/// for a file that is not there; what is wrong in a file names the file.
ExtendedExperiment with_extended(nlohmann::json source, const ExtendsLookup& lookup);

/// `base` changed by `change`, an experiment that extends it:
/// - objects are merged key by key, except that one of another "kind" replaces the whole object, also where the base
///   means a kind without naming it: the task char_lm, the model graph_transformer;
/// - anything else replaces what was there: numbers, texts and lists, the bare name of a graph too;
/// - null removes the key;
/// - "sweep" is replaced as a whole; where `change` has none, its values end the sweep of their path, as --set does.
nlohmann::json merge_experiment(nlohmann::json base, const nlohmann::json& change);

/// Takes a path out of a sweep, of its zips too; a zip without paths goes away.
void end_sweep_of(nlohmann::json& source, const std::string& path);

}  // namespace bough::runner
