#include "bough/nn/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "bough/core/captured_step.h"
#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "bough/ops/optimizer_step.h"
#include "nn/modules/state.h"

namespace bough::nn {
namespace {

void require_between(const char* where, const char* what, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    throw ConfigError(where, fmt::format("{} must be between {} and {}, not {}", what, low, high, value));
  }
}

/// Below 1: with a decay of 1 nothing would ever enter the moment, and its correction would divide by zero.
void require_decay(const char* where, const char* what, double value) {
  if (!(value >= 0 && value < 1)) {
    throw ConfigError(where, fmt::format("{} must be at least 0 and below 1, not {}", what, value));
  }
}

/// Stepping a tensor twice would count its gradient twice, and two of one name could not be told apart in a checkpoint.
void require_distinct(const Module::NamedTensors& parameters) {
  if (parameters.empty()) {
    throw ConfigError("optimizer",
                      "there are no parameters to train; a module lists its own with add_parameter and its parts with "
                      "add_module, in its constructor");
  }
  std::map<const TensorBody*, std::string_view> name_of_tensor;
  std::set<std::string_view> names;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.defined()) throw ConfigError("optimizer", fmt::format("the parameter '{}' is undefined", name));
    if (!names.insert(name).second) {
      throw ConfigError(
          "optimizer",
          fmt::format("two parameters are called '{}'; put a prefix before the names of each model", name));
    }
    const auto [known, is_new] = name_of_tensor.emplace(parameter.body().get(), name);
    if (!is_new) {
      throw ConfigError("optimizer",
                        fmt::format("'{}' and '{}' are the same tensor; give it once", known->second, name));
    }
  }
}

/// A name that is no parameter's is a slip that would go unnoticed.
void require_parameters_of(const Module::NamedTensors& parameters, const std::vector<std::string>& decayed) {
  for (const std::string& name : decayed) {
    if (std::ranges::find(parameters, name, &Module::NamedTensors::value_type::first) == parameters.end()) {
      throw ConfigError("optimizer", fmt::format("'{}' is to decay, but no parameter is called so; names are those of "
                                                 "named_parameters()",
                                                 name));
    }
  }
}

constexpr double unlimited = 1e300;

}  // namespace

Optimizer::Optimizer(Module::NamedTensors parameters, double learning_rate, double clip_norm,
                     std::vector<std::string> state_names, const std::optional<std::vector<std::string>>& decayed)
    : learning_rate_(learning_rate), clip_norm_(clip_norm), state_names_(std::move(state_names)) {
  require_between("optimizer", "learning_rate", learning_rate, 0, unlimited);
  require_between("optimizer", "clip_norm", clip_norm, 0, unlimited);
  require_distinct(parameters);
  if (decayed) require_parameters_of(parameters, *decayed);
  const MemoryTag tag("optimizer");
  for (auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad() || !parameter.is_leaf()) {
      throw AutogradError("optimizer", fmt::format("'{}' is not a leaf that requires a gradient", name));
    }
    const bool decays = !decayed || std::ranges::find(*decayed, name) != decayed->end();
    Slot& slot = slots_.emplace_back(Slot{name, parameter, {}, decays});
    for (std::size_t i = 0; i < state_names_.size(); ++i) slot.state.push_back(zeros_like(parameter.detach()));
  }
}

Optimizer::Ready Optimizer::ready() {
  Ready result;
  for (Slot& slot : slots_) {
    if (const Tensor gradient = slot.parameter.grad(); gradient.defined()) {
      result.slots.push_back(&slot);
      result.gradients.push_back(gradient);
    }
  }
  return result;
}

void Optimizer::update_clipped(Ready& ready, double gradient_scale, double norm) {
  ++steps_;
  if (ready.slots.empty() || !std::isfinite(norm)) return;
  if (clip_norm_ > 0 && norm > clip_norm_) gradient_scale *= clip_norm_ / norm;
  update(ready.slots, gradient_scale, steps_, {});
}

double Optimizer::step(double gradient_scale) {
  Ready now = ready();
  const double norm = std::abs(gradient_scale) * global_norm(now.gradients);
  if (!std::isfinite(norm)) {
    throw Error("optimizer",
                fmt::format("the norm of the gradients is {} at step {}; the loss has overflowed or is not a "
                            "number, a lower learning rate or clipping helps",
                            norm, steps_ + 1));
  }
  update_clipped(now, gradient_scale, norm);
  return norm;
}

Tensor Optimizer::enqueue_step(double gradient_scale) {
  Ready now = ready();
  const Device device = now.slots.empty() ? Device::cpu() : now.gradients[0].device();
  const bool one_gpu = device.kind == Device::Kind::cuda &&
                       std::ranges::all_of(now.gradients, [&](const Tensor& g) { return g.device() == device; });
  if (!one_gpu) {
    const double norm = std::abs(gradient_scale) * global_norm(now.gradients);
    update_clipped(now, gradient_scale, norm);
    return full({}, norm, DType::float64, device);
  }
  const ClippedNorm clipped = clipped_norm(now.gradients, gradient_scale, clip_norm_);
  const auto count = static_cast<std::int64_t>(changing_numbers(1).size());
  const Tensor numbers = bough::changing_numbers(device, count, [this, slots = now.slots](std::span<double> values) {
    ++steps_;
    std::ranges::copy(changing_numbers(steps_), values.begin());
    for (Slot* slot : slots) slot->parameter.mark_written();
  });
  update(now.slots, gradient_scale, steps_, {clipped.scale, numbers});
  return clipped.norm;
}

void Optimizer::clear_grad() {
  for (Slot& slot : slots_) slot.parameter.clear_grad();
}

Module::NamedTensors Optimizer::state() const {
  Module::NamedTensors result{{"steps", full({}, static_cast<double>(steps_), DType::int64)}};
  for (const Slot& slot : slots_) {
    for (std::size_t i = 0; i < state_names_.size(); ++i) {
      result.emplace_back(slot.name + "." + state_names_[i], slot.state[i]);
    }
  }
  return result;
}

void Optimizer::load_state(const Module::NamedTensors& given) {
  require_matching_state("optimizer", state(), given);
  for (const auto& [name, tensor] : given) {
    if (name == "steps") steps_ = tensor.item<std::int64_t>();
  }
  assign_state(state(), given);
}

double clip_gradient_norm(const std::vector<Tensor>& parameters, double max_norm) {
  require_between("clip_gradient_norm", "max_norm", max_norm, 0, unlimited);
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) {
    if (Tensor gradient = parameter.grad(); gradient.defined()) gradients.push_back(gradient);
  }
  const double norm = global_norm(gradients);
  if (norm > max_norm) scale_in_place(gradients, max_norm / norm);
  return norm;
}

Sgd::Sgd(Module::NamedTensors parameters, const SgdOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate, options.clip_norm,
                options.momentum > 0 ? std::vector<std::string>{"velocity"} : std::vector<std::string>{},
                options.decayed),
      options_(options) {
  require_between("sgd", "momentum", options.momentum, 0, 1);
  require_between("sgd", "weight_decay", options.weight_decay, 0, unlimited);
}

SgdStep Sgd::numbers(double gradient_scale) const {
  return {.learning_rate = learning_rate(),
          .momentum = options_.momentum,
          .weight_decay = options_.weight_decay,
          .nesterov = options_.nesterov,
          .gradient_scale = gradient_scale};
}

std::vector<double> Sgd::changing_numbers(std::int64_t) const {
  const auto changing = changing_numbers_of(numbers(1));
  return {changing.begin(), changing.end()};
}

void Sgd::update(std::vector<Slot*>& slots, double gradient_scale, std::int64_t, const StepOnDevice& on_device) {
  std::vector<SgdSlot> ready;
  for (Slot* slot : slots) {
    const Tensor velocity = slot->state.empty() ? Tensor() : slot->state[0];
    ready.push_back({slot->parameter, slot->parameter.grad(), velocity, slot->decays});
  }
  sgd_update(ready, numbers(gradient_scale), on_device);
}

Adam::Adam(Module::NamedTensors parameters, const AdamOptions& options, bool decoupled_weight_decay)
    : Optimizer(std::move(parameters), options.learning_rate, options.clip_norm, {"first_moment", "second_moment"},
                options.decayed),
      options_(options),
      decoupled_weight_decay_(decoupled_weight_decay) {
  require_decay("adam", "beta1", options.beta1);
  require_decay("adam", "beta2", options.beta2);
  require_between("adam", "epsilon", options.epsilon, 0, unlimited);
  require_between("adam", "weight_decay", options.weight_decay, 0, unlimited);
}

AdamStep Adam::numbers(double gradient_scale, std::int64_t step) const {
  return {.learning_rate = learning_rate(),
          .beta1 = options_.beta1,
          .beta2 = options_.beta2,
          .epsilon = options_.epsilon,
          .weight_decay = options_.weight_decay,
          .decoupled_weight_decay = decoupled_weight_decay_,
          .gradient_scale = gradient_scale,
          .step = step};
}

std::vector<double> Adam::changing_numbers(std::int64_t step) const {
  const auto changing = changing_numbers_of(numbers(1, step));
  return {changing.begin(), changing.end()};
}

void Adam::update(std::vector<Slot*>& slots, double gradient_scale, std::int64_t step, const StepOnDevice& on_device) {
  std::vector<AdamSlot> ready;
  for (Slot* slot : slots) {
    ready.push_back({slot->parameter, slot->parameter.grad(), slot->state[0], slot->state[1], slot->decays});
  }
  adam_update(ready, numbers(gradient_scale, step), on_device);
}

}  // namespace bough::nn
