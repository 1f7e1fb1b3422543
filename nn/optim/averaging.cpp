#include "bough/nn/averaging.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "bough/ops/optimizer_step.h"
#include "nn/modules/state.h"

namespace bough::nn {
namespace {

Module::NamedTensors snapshot(const Module& module) {
  const MemoryTag tag("parameter average");
  Module::NamedTensors result = module.named_parameters();
  for (auto& [name, tensor] : result) tensor = tensor.detach().clone();
  return result;
}

/// All that is kept under one name each, the oldest first.
Module::NamedTensors numbered(const std::deque<Module::NamedTensors>& kept) {
  Module::NamedTensors result;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (const auto& [name, tensor] : kept[i]) result.emplace_back(fmt::format("{}.{}", i, name), tensor);
  }
  return result;
}

}  // namespace

ParameterAverage ParameterAverage::exponential(const Module& module, double decay) {
  if (!(decay >= 0 && decay < 1)) {
    throw ConfigError("parameter average", fmt::format("decay must be in [0, 1), not {}", decay));
  }
  return ParameterAverage(module, decay, 0);
}

ParameterAverage ParameterAverage::last(const Module& module, std::size_t snapshots) {
  if (snapshots == 0) throw ConfigError("parameter average", "at least one snapshot must be kept, not 0");
  return ParameterAverage(module, 0, snapshots);
}

void ParameterAverage::update() {
  ++updates_;
  if (window_ > 0 || snapshots_.empty()) {
    snapshots_.push_back(snapshot(*module_));
    if (window_ > 0 && snapshots_.size() > window_) snapshots_.pop_front();
    return;
  }
  const Module::NamedTensors now = module_->named_parameters();
  Module::NamedTensors& average = snapshots_.front();
  for (std::size_t i = 0; i < now.size(); ++i) {
    scale_in_place(std::span(&average[i].second, 1), decay_);
    average[i].second.accumulate(now[i].second.detach(), 1 - decay_);
  }
}

Module::NamedTensors ParameterAverage::average() const {
  if (snapshots_.empty()) throw Error("parameter average", "there is none before the first update()");
  Module::NamedTensors result = snapshots_.front();
  const double share = 1.0 / static_cast<double>(snapshots_.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].second = zeros_like(result[i].second);
    for (const Module::NamedTensors& entry : snapshots_) result[i].second.accumulate(entry[i].second, share);
  }
  return result;
}

Module::NamedTensors ParameterAverage::state() const {
  Module::NamedTensors result = numbered(snapshots_);
  result.emplace_back("updates", full({}, static_cast<double>(updates_), DType::int64));
  return result;
}

void ParameterAverage::load_state(const Module::NamedTensors& given) {
  constexpr const char* where = "parameter average";
  const auto count = std::ranges::find(given, "updates", &std::pair<std::string, Tensor>::first);
  if (count == given.end() || count->second.dtype() != DType::int64 || count->second.elements() != 1 ||
      count->second.item<std::int64_t>() < 0) {
    throw ConfigError(where, "the number of updates is missing from what is loaded");
  }
  const auto updates = static_cast<std::size_t>(count->second.item<std::int64_t>());
  std::deque<Module::NamedTensors> snapshots(std::min(updates, std::max<std::size_t>(window_, 1)));
  for (Module::NamedTensors& entry : snapshots) entry = snapshot(*module_);
  Module::NamedTensors own = numbered(snapshots);
  own.emplace_back("updates", full({}, 0, DType::int64));
  require_matching_state(where, own, given);
  assign_state(own, given);
  snapshots_ = std::move(snapshots);
  updates_ = updates;
}

}  // namespace bough::nn
