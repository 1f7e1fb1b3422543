#pragma once

#include <deque>

#include "bough/nn/module.h"

namespace bough::nn {

/// An average of a module's parameters over training: exponential (each update moves the average by 1 - decay) or the
/// plain mean of the last N snapshots, as translation models use.
class ParameterAverage {
 public:
  /// Starts an average of one kind or the other with no update yet.
  static ParameterAverage exponential(const Module& module, double decay);
  static ParameterAverage last(const Module& module, std::size_t snapshots);

  /// Takes the parameters as they are now. Exponential: one pass. Last N: one copy of the parameters.
  void update();
  /// The average under the module's parameter names; Error before the first update.
  Module::NamedTensors average() const;
  std::size_t updates() const { return updates_; }

  /// Everything a checkpoint needs to go on bit for bit: "updates", and the snapshots as "<number>.<parameter>".
  Module::NamedTensors state() const;
  /// Checked before anything is changed: ConfigError for another number of snapshots than these updates leave; names,
  /// shapes and types as in Module::load_state.
  void load_state(const Module::NamedTensors& state);

 private:
  ParameterAverage(const Module& module, double decay, std::size_t window)
      : module_(&module), decay_(decay), window_(window) {}

  const Module* module_;
  double decay_;
  std::size_t window_;  ///< 0 = exponential
  std::deque<Module::NamedTensors> snapshots_;
  std::size_t updates_ = 0;
};

}  // namespace bough::nn
