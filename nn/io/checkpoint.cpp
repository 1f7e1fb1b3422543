#include "bough/nn/checkpoint.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "bough/core/errors.h"
#include "bough/nn/averaging.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/cast.h"
#include "nn/io/checksums.h"
#include "nn/modules/state.h"

namespace bough::nn {
namespace {

// A colon cannot be part of a module's names, so what belongs to the checkpoint never collides with the model.
constexpr std::string_view optimizer_prefix = "optimizer:", average_prefix = "average:";
constexpr const char* random_key = "bough:random";
constexpr const char* checksums_key = "bough:checksums";

/// Moves the tensors whose names begin with the prefix out of `tensors`, without it.
Module::NamedTensors take(Module::NamedTensors& tensors, std::string_view prefix) {
  Module::NamedTensors taken, left;
  for (auto& [name, tensor] : tensors) {
    const bool matches = name.starts_with(prefix);
    (matches ? taken : left).emplace_back(matches ? name.substr(prefix.size()) : name, tensor);
  }
  tensors = std::move(left);
  return taken;
}

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
  const auto add = [&file](std::string_view prefix, const Module::NamedTensors& state) {
    for (const auto& [name, tensor] : state) file.tensors.emplace_back(std::string(prefix) + name, tensor);
  };
  if (parts.optimizer != nullptr) add(optimizer_prefix, parts.optimizer->state());
  if (parts.average != nullptr) add(average_prefix, parts.average->state());
  if (parts.generator != nullptr) file.metadata[random_key] = to_text(parts.generator->state());
  file.metadata.erase(checksums_key);
  file.metadata[checksums_key] = checksums_of(file);
  save_tensors(path, file);
}

void load_checkpoint(const std::string& path, Module& module, const CheckpointParts& parts) {
  TensorFile file = load_tensors(path);
  if (const auto written = file.metadata.extract(checksums_key)) require_checksums(path, file, written.mapped());
  for (auto& [name, tensor] : file.tensors) {
    if (tensor.dtype() == DType::bfloat16) tensor = cast(tensor, DType::float32);  // modules compute in wider types
  }
  const Module::NamedTensors optimizer = take(file.tensors, optimizer_prefix);
  const Module::NamedTensors average = take(file.tensors, average_prefix);
  const Module::NamedTensors& model = file.tensors;
  RandomStream random;
  if (parts.generator != nullptr) {
    const auto found = file.metadata.find(random_key);
    if (found == file.metadata.end()) throw IoError("checkpoint", fmt::format("'{}' holds no random state", path));
    random = random_from(path, found->second);
  }
  std::optional<ParameterAverage> loaded_average;
  try {
    require_matching_state("model", module.state(), model);
    if (parts.optimizer != nullptr) require_matching_state("optimizer", parts.optimizer->state(), optimizer);
    if (parts.average != nullptr) loaded_average.emplace(*parts.average).load_state(average);
  } catch (const Error& error) {
    throw IoError("checkpoint", fmt::format("'{}' does not fit: {}", path, error.what()));
  }

  module.load_state(model);
  if (parts.optimizer != nullptr) parts.optimizer->load_state(optimizer);
  if (parts.average != nullptr) *parts.average = std::move(*loaded_average);
  if (parts.generator != nullptr) parts.generator->set_state(random);
  file.metadata.erase(random_key);
  if (parts.metadata != nullptr) *parts.metadata = std::move(file.metadata);
}

}  // namespace bough::nn
