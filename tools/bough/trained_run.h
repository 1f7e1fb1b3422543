#pragma once

#include <optional>
#include <string>

/// How commands find the model of a run that bough run has trained.
namespace bough::cli {

/// The checkpoint that a path means: that file, or of the folder of a run the best parameters, with `last` those after
/// the last step; these also where the best ones are missing, with a line to stderr. Empty for the folder of an
/// experiment: its runs are printed, with how `command` is used on one; if it must be a single run, they are printed to
/// stderr, followed by a ConfigError. IoError that says what can be named, if there is no model.
std::optional<std::string> find_checkpoint(const std::string& command, const std::string& path, bool last,
                                           bool must_be_one = false);

/// Prints a line to stderr if the pattern of the model builds another graph now than when it was trained: the model
/// would read other nodes than it has learned from, without any other sign of it.
void warn_of_another_graph(const std::string& checkpoint);

}  // namespace bough::cli
