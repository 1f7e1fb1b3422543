#pragma once

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/layers.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/reduce.h"
#include "tasks/training/training_loop.h"

/// The shortest run that can be trained, for tests of the training loop.
namespace bough::training {

using nlohmann::json;

inline Settings train_settings(const json& given) {
  const Settings read = ParameterTable(training_parameters()).read("train", given);
  return {"train", with_default_steps(read.values())};
}

using Values = std::map<std::string, std::vector<float>>;

inline Values values_of(const nn::Module::NamedTensors& tensors) {
  Values result;
  for (const auto& [name, tensor] : tensors) result[name] = tensor.to_vector<float>();
  return result;
}

inline double sum_of(const nn::Module& model) {
  double sum = 0;
  for (const auto& [name, values] : values_of(model.named_parameters())) {
    for (const float value : values) sum += value;
  }
  return sum;
}

/// Fits a line to made-up points; the score on validation data is what the test wants it to be, and the one on test
/// data is the sum of the parameters, which tells which ones were tested.
class LineRun : public tasks::TrainingRun {
 public:
  explicit LineRun(std::vector<double> valid_scores = {}, std::int64_t parts = 1)
      : scores_(std::move(valid_scores)),
        parts_(parts),
        line_((manual_seed(7), nn::LinearOptions{.in = 3, .out = 1})) {}

  tasks::RunFacts facts() const override { return {.parameters = line_.parameter_count(), .tokens_per_step = rows}; }
  nn::Module& model() override { return line_; }
  std::int64_t steps_per_epoch() const override { return 5; }

  tasks::Batch batch(std::int64_t step, std::int64_t part) override {
    std::vector<float> x, y;
    for (std::int64_t row = part * rows / parts_; row < (part + 1) * rows / parts_; ++row) {
      const double a = std::sin(static_cast<double>(17 * step + 3 * row)),
                   b = std::cos(static_cast<double>(row * step));
      x.insert(x.end(), {static_cast<float>(a), static_cast<float>(b), 1});
      y.push_back(static_cast<float>(2 * a - b + 0.5));
    }
    const auto count = static_cast<std::int64_t>(y.size());
    return {Tensor::from_vector(x, {count, 3}), Tensor::from_vector(y, {count, 1})};
  }
  Tensor loss(const tasks::Batch& batch, tasks::StepPosition) override {
    return mean(square(line_.forward(batch[0]) - batch[1]));
  }
  double count(const tasks::Batch& batch) const override { return static_cast<double>(batch[1].elements()); }

  json evaluate(tasks::Split split) override {
    evaluated.push_back(values_of(line_.named_parameters()));
    if (split == tasks::Split::test) return {{"score", sum_of(line_)}};
    const double score = scores_.empty() ? sum_of(line_) : scores_.at(next_score);
    ++next_score;
    return {{"score", score}};
  }

  static constexpr std::int64_t rows = 12;
  std::vector<Values> evaluated;  ///< the parameters of each call of evaluate
  std::size_t next_score = 0;

 private:
  std::vector<double> scores_;
  std::int64_t parts_;
  nn::Linear line_;
};

inline LoopRequest request(const json& train, const std::string& folder) {
  std::filesystem::create_directories(folder);
  return {.name = "line",
          .config = {{"train", train}},
          .train = train_settings(train),
          .metric = {.name = "score", .label = "score"},
          .folder = folder};
}

inline TrainingOutcome train(LineRun& run, const json& settings, const std::string& folder) {
  TrainingLoop loop(run, request(settings, folder));
  loop.run();
  return loop.outcome();
}

inline Values saved(const std::string& path) { return values_of(nn::load_tensors(path).tensors); }

}  // namespace bough::training
