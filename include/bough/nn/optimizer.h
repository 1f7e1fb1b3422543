#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bough/nn/module.h"
#include "bough/ops/optimizer_step.h"

namespace bough::nn {

/// Updates parameters from their gradients, all of them in one pass over memory. A parameter without a gradient is left
/// alone, its state too. Row-sparse gradients are made dense first. The same for any number of threads.
///
///     Adam optimizer(model, {.learning_rate = 1e-2});
///     for (int step = 0; step < 100; ++step) {
///       optimizer.clear_grad();
///       loss_of(model).backward();
///       optimizer.step();
///     }
///
/// Every optimizer takes leaves that require a gradient (AutogradError), at least one, no tensor twice and no two of
/// one name (ConfigError). All of them decay, unless the options name those that do: with
///
///     AdamW optimizer(model, {.weight_decay = 0.1, .decayed = model.weight_matrices()});
///
/// neither biases, norms nor embeddings are pulled towards 0. Another name than of a parameter is a ConfigError.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Takes the gradients times gradient_scale. Returns their global norm, so scaled, before clipping. With a limit they
  /// are scaled down to it on the fly; a norm that is not finite is an Error and changes nothing.
  double step(double gradient_scale = 1);
  /// The same without a look of the host at the norm, so that nothing waits for a GPU and a CapturedStep can capture
  /// it: each replay takes the learning rate and the number of steps of then, and counts one. Returns the norm, float64
  /// [] on the device of the parameters. Where it is not finite nothing is changed, but the step counts. Bit for bit
  /// what step() gives. Parameters of several devices are stepped as by step(), which waits.
  Tensor enqueue_step(double gradient_scale = 1);
  void clear_grad();

  /// The rate of the next step; a schedule sets it.
  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double rate) { learning_rate_ = rate; }
  /// Number of steps taken.
  std::int64_t steps() const { return steps_; }

  /// Everything a checkpoint needs to go on bit for bit: "<parameter>.<what>" and "steps".
  Module::NamedTensors state() const;
  /// Checked as in Module::load_state.
  void load_state(const Module::NamedTensors& state);

 protected:
  /// A parameter with what the optimizer remembers of it.
  struct Slot {
    std::string name;           ///< of the parameter
    Tensor parameter;           ///< shared with the module
    std::vector<Tensor> state;  ///< one tensor for each name of state
    bool decays = true;         ///< takes part in weight decay
  };
  /// state_names: one tensor of zeros for each parameter and name. `decayed` as in the options.
  Optimizer(Module::NamedTensors parameters, double learning_rate, double clip_norm,
            std::vector<std::string> state_names, const std::optional<std::vector<std::string>>& decayed);

  /// Updates the given slots, all of which have gradients, multiplying these by gradient_scale; or as on_device says,
  /// if it is defined.
  virtual void update(std::vector<Slot*>& slots, double gradient_scale, std::int64_t step,
                      const StepOnDevice& on_device) = 0;
  /// changing_numbers_of a step, for on_device.
  virtual std::vector<double> changing_numbers(std::int64_t step) const = 0;

 private:
  /// The slots that have gradients, and these.
  struct Ready {
    std::vector<Slot*> slots;
    std::vector<Tensor> gradients;
  };
  Ready ready();
  /// Updates, if the norm of scaled gradients is finite, and clips them.
  void update_clipped(Ready& ready, double gradient_scale, double norm);

  double learning_rate_;
  double clip_norm_;
  std::vector<std::string> state_names_;
  std::vector<Slot> slots_;
  std::int64_t steps_ = 0;
};

/// Options of Sgd.
struct SgdOptions {
  double learning_rate = 1e-2;  ///< how far a step goes
  double momentum = 0;          ///< share of the velocity that is kept
  double weight_decay = 0;      ///< pull towards 0
  bool nesterov = false;        ///< looks ahead by one step
  double clip_norm = 0;         ///< 0 = no clipping
  /// Names of the parameters that decay, such as Module::weight_matrices(); default: all.
  std::optional<std::vector<std::string>> decayed = {};
};

/// Stochastic gradient descent, with momentum if wished.
class Sgd : public Optimizer {
 public:
  /// Trains named parameters, or all of a module.
  Sgd(Module::NamedTensors parameters, const SgdOptions& options = {});
  explicit Sgd(const Module& module, const SgdOptions& options = {}) : Sgd(module.named_parameters(), options) {}

 private:
  void update(std::vector<Slot*>& slots, double gradient_scale, std::int64_t step,
              const StepOnDevice& on_device) override;
  std::vector<double> changing_numbers(std::int64_t step) const override;
  SgdStep numbers(double gradient_scale) const;
  SgdOptions options_;
};

/// Options of Adam.
struct AdamOptions {
  double learning_rate = 1e-3;  ///< how far a step goes
  double beta1 = 0.9;           ///< of the first moment
  double beta2 = 0.999;         ///< of the second moment
  double epsilon = 1e-8;        ///< keeps the divisor above 0
  double weight_decay = 0;      ///< pull towards 0
  double clip_norm = 0;         ///< 0 = no clipping
  /// Names of the parameters that decay, such as Module::weight_matrices(); default: all.
  std::optional<std::vector<std::string>> decayed = {};
};

/// Adam; weight decay is added to the gradient.
class Adam : public Optimizer {
 public:
  /// Trains named parameters, or all of a module.
  Adam(Module::NamedTensors parameters, const AdamOptions& options = {})
      : Adam(std::move(parameters), options, false) {}
  explicit Adam(const Module& module, const AdamOptions& options = {}) : Adam(module.named_parameters(), options) {}

 protected:
  /// What AdamW is made by.
  Adam(Module::NamedTensors parameters, const AdamOptions& options, bool decoupled_weight_decay);

 private:
  void update(std::vector<Slot*>& slots, double gradient_scale, std::int64_t step,
              const StepOnDevice& on_device) override;
  std::vector<double> changing_numbers(std::int64_t step) const override;
  AdamStep numbers(double gradient_scale, std::int64_t step) const;
  AdamOptions options_;
  bool decoupled_weight_decay_;
};

/// Options of AdamW: those of Adam, but that parameters decay unless told otherwise.
struct AdamWOptions {
  double learning_rate = 1e-3;  ///< how far a step goes
  double beta1 = 0.9;           ///< of the first moment
  double beta2 = 0.999;         ///< of the second moment
  double epsilon = 1e-8;        ///< keeps the divisor above 0
  double weight_decay = 1e-2;   ///< pull towards 0
  double clip_norm = 0;         ///< 0 = no clipping
  /// Names of the parameters that decay, such as Module::weight_matrices(); default: all.
  std::optional<std::vector<std::string>> decayed = {};
};

/// Adam with decoupled weight decay: parameters shrink by learning_rate * weight_decay a step.
class AdamW : public Adam {
 public:
  /// Trains named parameters, or all of a module.
  explicit AdamW(const Module& module, const AdamWOptions& options = {}) : AdamW(module.named_parameters(), options) {}
  AdamW(Module::NamedTensors parameters, const AdamWOptions& options = {})
      : Adam(std::move(parameters),
             {.learning_rate = options.learning_rate,
              .beta1 = options.beta1,
              .beta2 = options.beta2,
              .epsilon = options.epsilon,
              .weight_decay = options.weight_decay,
              .clip_norm = options.clip_norm,
              .decayed = options.decayed},
             true) {}
  /// Takes the numbers of Adam as they are: no decay unless they say so.
  template <std::same_as<AdamOptions> Options>
  AdamW(Module::NamedTensors parameters, const Options& options) : Adam(std::move(parameters), options, true) {}
};

/// Scales the gradients so that their global norm is at most max_norm; returns the norm before.
double clip_gradient_norm(const std::vector<Tensor>& parameters, double max_norm);

}  // namespace bough::nn
