#include "bough/nn/checkpoint.h"

#include <fmt/format.h>
#include <zlib.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "bough/core/errors.h"
#include "bough/nn/averaging.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/cast.h"
#include "nn/modules/state.h"

namespace bough::nn {
namespace {

using nlohmann::json;

// A colon cannot be part of a module's names, so what belongs to the checkpoint never collides with the model.
constexpr std::string_view optimizer_prefix = "optimizer:", average_prefix = "average:", own_prefix = "own:";
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

class Crc {
 public:
  void add(std::span<const std::byte> bytes) {
    value_ = ::crc32_z(value_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }
  /// With its length: otherwise "ab" "c" and "a" "bc" would be the same.
  void add(const std::string& text) {
    add_number(static_cast<std::int64_t>(text.size()));
    add(std::as_bytes(std::span(text)));
  }
  void add_number(std::int64_t number) { add(std::as_bytes(std::span(&number, 1))); }
  std::string text() const { return fmt::format("{:08x}", value_); }

 private:
  uLong value_ = ::crc32_z(0, nullptr, 0);
};

std::string checksum_of(const Tensor& given) {
  const Tensor tensor = given.detach().to(Device::cpu());
  Crc crc;
  crc.add(std::string(name_of(tensor.dtype())));
  for (const std::int64_t extent : tensor.shape()) crc.add_number(extent);
  visit_dtype(tensor.dtype(), [&]<typename T>(TypeTag<T>) { crc.add(std::as_bytes(tensor.span<T>())); });
  return crc.text();
}

std::string checksum_of(const std::map<std::string, std::string>& metadata) {
  Crc crc;
  for (const auto& [key, text] : metadata) {
    crc.add(key);
    crc.add(text);
  }
  return crc.text();
}

/// CRC-32 of each tensor (type, shape, bytes) and of all metadata, as one line of JSON. The order of the tensors plays
/// no part, so a program that reads the file and writes it anew keeps them valid. Every single flipped bit shows.
std::string checksums_of(const TensorFile& file) {
  json sums = {{"metadata", checksum_of(file.metadata)}, {"tensors", json::object()}};
  for (const auto& [name, tensor] : file.tensors) sums["tensors"][name] = checksum_of(tensor);
  return sums.dump();
}

/// IoError that names what has changed if `expected`, as checksums_of made it, is not that of the file.
void require_checksums(const std::string& path, const TensorFile& file, const std::string& expected) {
  const json now = json::parse(checksums_of(file));
  const json then = json::parse(expected, nullptr, false);
  if (now == then) return;
  std::string changed = "its checksums are";
  if (then.is_object() && then.contains("tensors") && then["tensors"].is_object()) {
    if (now["metadata"] != then.value("metadata", json())) changed = "its metadata is";
    for (const auto& [name, sum] : now["tensors"].items()) {
      if (sum != then["tensors"].value(name, json())) changed = fmt::format("the tensor '{}' is", name);
    }
    for (const auto& [name, sum] : then["tensors"].items()) {
      if (!now["tensors"].contains(name)) changed = fmt::format("the tensor '{}' is missing: it is", name);
    }
  }
  throw IoError("checkpoint", fmt::format("'{}' is damaged: {} not what was written. If it was changed on purpose, "
                                          "leave out the checksums in its metadata",
                                          path, changed));
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
  if (parts.own != nullptr) add(own_prefix, *parts.own);
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
  Module::NamedTensors own = take(file.tensors, own_prefix);
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
  if (parts.own != nullptr) *parts.own = std::move(own);
  file.metadata.erase(random_key);
  if (parts.metadata != nullptr) *parts.metadata = std::move(file.metadata);
}

}  // namespace bough::nn
