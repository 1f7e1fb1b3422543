#include "tasks/training/trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/gradient_accumulation.h"

namespace bough::training {
namespace {

using nlohmann::json;

/// While it lives, the model has other parameters; its own come back afterwards.
class BorrowedParameters {
 public:
  BorrowedParameters(nn::Module& model, const nn::Module::NamedTensors& parameters) : model_(model) {
    own_ = model.state();
    for (auto& [name, tensor] : own_) tensor = tensor.detach().clone();
    nn::Module::NamedTensors borrowed = own_;
    for (auto& [name, tensor] : borrowed) {
      for (const auto& [other_name, other] : parameters) {
        if (name == other_name) tensor = other;
      }
    }
    model.load_state(borrowed);
  }
  ~BorrowedParameters() { model_.load_state(own_); }
  BorrowedParameters(const BorrowedParameters&) = delete;
  BorrowedParameters& operator=(const BorrowedParameters&) = delete;

 private:
  nn::Module& model_;
  nn::Module::NamedTensors own_;
};

std::optional<nn::ParameterAverage> make_average(const nn::Module& model, const TrainingOptions& options) {
  if (options.ema_decay) return nn::ParameterAverage::exponential(model, *options.ema_decay);
  if (options.average_checkpoints == 0) return {};
  return nn::ParameterAverage::last(model, static_cast<std::size_t>(options.average_checkpoints));
}

}  // namespace

Trainer::Trainer(tasks::TrainingRun& run, const Settings& train, const TrainingOptions& options, Device device)
    : run_(run),
      options_(options),
      device_(device),
      optimizer_(make_optimizer(train, run.model())),
      rate_(make_schedule(train, options.steps, run.steps_per_epoch())),
      average_(make_average(run.model(), options)) {}

void Trainer::step(std::int64_t step) {
  const tasks::StepPosition at{step, options_.steps};
  optimizer_->set_learning_rate(rate_(step));
  if (options_.captured && run_.can_replay(at)) {
    replayed_step(at);
  } else if (options_.gradient_accumulation > 1) {
    accumulated_step(at);
  } else {
    plain_step(at);
  }
  if (options_.ema_decay) average_->update();
}

void Trainer::note_loss(double loss) {
  for (const double before : losses(Losses::all)) seen_losses_.push_back(before);
  seen_losses_.push_back(loss);
}

void Trainer::plain_step(tasks::StepPosition at) {
  const Tensor loss = run_.loss(run_.batch(at.step, 0), at);
  const double value = loss.item<double>();
  note_loss(value);
  if (!std::isfinite(value)) return;
  loss.backward();
  optimizer_->step();
  optimizer_->clear_grad();
}

void Trainer::accumulated_step(tasks::StepPosition at) {
  nn::GradientAccumulation accumulation(*optimizer_);
  for (std::int64_t part = 0; part < options_.gradient_accumulation; ++part) {
    const tasks::Batch batch = run_.batch(at.step, part);
    at.part = part;
    const Tensor loss = run_.loss(batch, at);
    if (const double value = loss.item<double>(); !std::isfinite(value)) {
      optimizer_->clear_grad();
      return note_loss(value);
    }
    accumulation.add(loss, run_.count(batch));
  }
  note_loss(accumulation.mean_loss());
  accumulation.step();
}

/// One launch on a GPU, for which the host does not wait.
void Trainer::replayed_step(tasks::StepPosition at) {
  const tasks::Batch batch = run_.batch(at.step, 0);
  if (captured_ == nullptr) {
    for (const Tensor& tensor : batch) captured_batch_.push_back(empty_like(tensor));
    const auto step = [this] {
      // can_replay(): from here to the last step the loss is the same function of the batch.
      const Tensor loss = run_.loss(captured_batch_, {options_.steps, options_.steps});
      loss.backward();
      const Tensor norm = optimizer_->enqueue_step();
      optimizer_->clear_grad();
      return std::vector{loss, norm};
    };
    captured_ = std::make_unique<CapturedStep>(device_, step);
  }
  for (std::size_t i = 0; i < batch.size(); ++i) captured_batch_[i].assign(batch[i]);
  const std::vector<Tensor>& results = captured_->run();
  unseen_losses_.push_back(results[0].clone());
  last_norm_ = results[1];
}

std::vector<double> Trainer::losses(Losses which) {
  if (which == Losses::known || unseen_losses_.empty()) return std::exchange(seen_losses_, {});
  std::vector<double> result = std::exchange(seen_losses_, {});
  for (const Tensor& loss : std::exchange(unseen_losses_, {})) result.push_back(loss.item<double>());
  const double norm = last_norm_.item<double>();
  if (std::isfinite(result.back()) && !std::isfinite(norm)) {
    throw Error("train", fmt::format("the norm of the gradients is {}; a lower learning rate or clipping helps", norm));
  }
  return result;
}

void Trainer::note_evaluation() {
  if (options_.average_checkpoints > 0) average_->update();
}

json Trainer::evaluate(tasks::Split split) {
  if (!average_ || average_->updates() == 0) return run_.evaluate(split);
  const BorrowedParameters averaged(run_.model(), average_->average());
  return run_.evaluate(split);
}

json Trainer::evaluate_saved(const std::string& path, tasks::Split split) {
  const BorrowedParameters own_again(run_.model(), {});
  nn::load_checkpoint(path, run_.model());
  return run_.evaluate(split);
}

void Trainer::save_evaluated(const std::string& path, std::map<std::string, std::string> notes) {
  notes.merge(run_.notes());
  const auto write = [&] { nn::save_checkpoint(path, run_.model(), {.metadata = &notes}); };
  if (!average_ || average_->updates() == 0) return write();
  const BorrowedParameters averaged(run_.model(), average_->average());
  write();
}

nn::CheckpointParts Trainer::parts(std::map<std::string, std::string>& notes, nn::Module::NamedTensors& state) {
  return {.optimizer = optimizer_.get(),
          .average = average_ ? &*average_ : nullptr,
          .generator = &default_generator(),
          .own = &state,
          .metadata = &notes};
}

void Trainer::save(const std::string& path, std::map<std::string, std::string> notes) {
  notes.merge(run_.notes());
  nn::Module::NamedTensors state = run_.state();
  nn::save_checkpoint(path, run_.model(), parts(notes, state));
}

std::map<std::string, std::string> Trainer::load(const std::string& path) {
  std::map<std::string, std::string> notes;
  nn::Module::NamedTensors state;
  nn::load_checkpoint(path, run_.model(), parts(notes, state));
  run_.load_state(state);
  return notes;
}

}  // namespace bough::training
