#include "bough/nn/checkpoint.h"

#include <fmt/format.h>

#include <charconv>

#include "bough/core/errors.h"
#include "bough/nn/optimizer.h"
#include "nn/modules/state.h"

namespace bough::nn {
namespace {

// A colon cannot be part of a module's names, so what belongs to the checkpoint never collides with the model.
constexpr std::string_view optimizer_prefix = "optimizer:";
constexpr const char* random_key = "bough:random";

std::string to_text(RandomStream state) { return fmt::format("{} {}", state.seed, state.stream); }

RandomStream random_from(const std::string& path, const std::string& text) {
  RandomStream state;
  const char* end = text.data() + text.size();
  const auto seed = std::from_chars(text.data(), end, state.seed);
  if (seed.ec == std::errc() && seed.ptr != end && *seed.ptr == ' ') {
    const auto stream = std::from_chars(seed.ptr + 1, end, state.stream);
    if (stream.ec == std::errc() && stream.ptr == end) return state;
  }
  throw IoError("checkpoint", fmt::format("'{}' holds the random state '{}', two numbers were expected", path, text));
}

}  // namespace

void save_checkpoint(const std::string& path, const Module& module, const CheckpointParts& parts) {
  TensorFile file{.tensors = module.state(), .metadata = {}};
  if (parts.metadata != nullptr) file.metadata = *parts.metadata;
  if (parts.optimizer != nullptr) {
    for (auto& [name, tensor] : parts.optimizer->state()) {
      file.tensors.emplace_back(std::string(optimizer_prefix) + name, tensor);
    }
  }
  if (parts.generator != nullptr) file.metadata[random_key] = to_text(parts.generator->state());
  save_tensors(path, file);
}

void load_checkpoint(const std::string& path, Module& module, const CheckpointParts& parts) {
  TensorFile file = load_tensors(path);
  Module::NamedTensors model, optimizer;
  for (auto& [name, tensor] : file.tensors) {
    if (name.starts_with(optimizer_prefix)) {
      optimizer.emplace_back(name.substr(optimizer_prefix.size()), tensor);
    } else {
      model.emplace_back(name, tensor);
    }
  }
  RandomStream random;
  if (parts.generator != nullptr) {
    const auto found = file.metadata.find(random_key);
    if (found == file.metadata.end()) throw IoError("checkpoint", fmt::format("'{}' holds no random state", path));
    random = random_from(path, found->second);
  }
  try {
    require_matching_state("model", module.state(), model);
    if (parts.optimizer != nullptr) require_matching_state("optimizer", parts.optimizer->state(), optimizer);
  } catch (const Error& error) {
    throw IoError("checkpoint", fmt::format("'{}' does not fit: {}", path, error.what()));
  }

  module.load_state(model);
  if (parts.optimizer != nullptr) parts.optimizer->load_state(optimizer);
  if (parts.generator != nullptr) parts.generator->set_state(random);
  file.metadata.erase(random_key);
  if (parts.metadata != nullptr) *parts.metadata = std::move(file.metadata);
}

}  // namespace bough::nn
