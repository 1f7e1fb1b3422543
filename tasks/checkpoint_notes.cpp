#include "tasks/checkpoint_notes.h"

#include <fmt/format.h>

#include <utility>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "tasks/recorded_plugins.h"

namespace bough::tasks {

CheckpointNotes::CheckpointNotes(const std::string& path, std::string model)
    : path_(path), model_(std::move(model)), file_(nn::load_tensors(path)), config_(parse_json(at("config"), path)) {
  // Checkpoints of earlier versions do not say which plug-ins they need.
  const auto plugins = file_.metadata.find(plugins_note);
  if (plugins == file_.metadata.end()) return;
  load_recorded_plugins(config_.at("graph"), parse_json(plugins->second, path));
}

const std::string& CheckpointNotes::at(const std::string& name) const {
  const auto found = file_.metadata.find(name);
  if (found != file_.metadata.end()) return found->second;
  throw IoError("checkpoint", fmt::format("'{}' is no checkpoint of {}: it has no {}", path_, model_, name));
}

}  // namespace bough::tasks
