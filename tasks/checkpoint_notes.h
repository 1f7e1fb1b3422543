#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bough/nn/checkpoint.h"

namespace bough::tasks {

/// What a checkpoint of `bough run` says of its model beside the parameters. Reads it, and loads the plug-ins that its
/// graph needs.
class CheckpointNotes {
 public:
  /// `model` names what the file is wanted for: "a character language model". IoError for a file that is no checkpoint
  /// of a run, errors of load_recorded_plugins.
  CheckpointNotes(const std::string& path, std::string model);

  /// The note of that name; IoError if it is not there.
  const std::string& at(const std::string& name) const;
  /// All notes by name.
  const std::map<std::string, std::string>& all() const { return file_.metadata; }
  /// The configuration of the run, as it was checked: "task", "model", "graph", "train".
  const nlohmann::json& config() const { return config_; }
  /// Tensors of the file.
  const nn::Module::NamedTensors& tensors() const { return file_.tensors; }

 private:
  std::string path_, model_;
  nn::TensorFile file_;
  nlohmann::json config_;
};

}  // namespace bough::tasks
