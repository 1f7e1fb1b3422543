#include "tasks/runner/train_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/layers.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/reduce.h"
#include "tests/support/files.h"

namespace bough::runner {
namespace {

using nlohmann::json;

/// Each step raises the bias of a layer by the learning rate. The accuracy is the bias, and the loss is lowest after
/// four steps.
class RisingRun : public tasks::TrainingRun {
 public:
  RisingRun() : line_((manual_seed(7), nn::LinearOptions{.in = 1, .out = 1})), start_(bias()) {}

  tasks::RunFacts facts() const override { return {.tokens_per_step = 1}; }
  nn::Module& model() override { return line_; }
  std::int64_t steps_per_epoch() const override { return 5; }
  tasks::Batch batch(std::int64_t, std::int64_t) override { return {zeros({1, 1})}; }
  Tensor loss(const tasks::Batch& batch, tasks::StepPosition) override { return mean(line_.forward(batch[0])) * -1; }
  double count(const tasks::Batch&) const override { return 1; }

  json evaluate(tasks::Split split) override {
    json metrics = {{"accuracy", bias()}, {"loss", std::abs(bias() - start_ - 0.4)}};
    if (split == tasks::Split::test) metrics.update({{"labels", {"a", "b"}}, {"confusion", {{3, 1}, {0, 4}}}});
    return metrics;
  }

 private:
  double bias() const {
    for (const auto& [name, values] : line_.named_parameters()) {
      if (name == "bias") return values.to_vector<float>().at(0);
    }
    return std::nan("");
  }

  nn::Linear line_;
  double start_;
};

/// A task that lets train.best_by choose between its two numbers.
class RisingTask : public tasks::Task {
 public:
  std::string name() const override { return "rising"; }
  std::string summary() const override { return "a bias that rises"; }
  tasks::Metric metric() const override { return {.name = "accuracy", .label = "accuracy", .lower_is_better = false}; }
  tasks::Metric selection(const tasks::RunSettings& settings) const override {
    return settings.train.string("best_by") == "loss" ? tasks::Metric{.name = "loss", .label = "loss"} : metric();
  }
  std::vector<Parameter> task_parameters() const override { return {}; }
  std::vector<Parameter> model_parameters() const override { return {}; }
  std::vector<Parameter> train_parameters() const override {
    return {choice_parameter("best_by", "", {"accuracy", "loss"})};
  }
  BuildOptions graph_options(const Settings&) const override { return {.length = 1}; }
  void check(const tasks::RunSettings&) const override {}
  std::vector<tasks::Bound> bounds(const tasks::RunSettings&) const override { return {}; }
  std::unique_ptr<tasks::TrainingRun> start(const tasks::RunSettings&) const override {
    return std::make_unique<RisingRun>();
  }
};

PlannedRun planned(const RisingTask& task, const std::string& best_by) {
  const json given = {{"graph", {{"kind", "full"}}},
                      {"train",
                       {{"best_by", best_by},
                        {"steps", 12},
                        {"evaluate_every", 2},
                        {"early_stopping", {{"patience", 2}}},
                        {"optimizer", "sgd"},
                        {"momentum", 0},
                        {"learning_rate", 0.1},
                        {"schedule", "constant"},
                        {"warmup", 0},
                        {"clip", 0}}}};
  json config = experiment_parameters(task).read("experiment", given).values();
  for (const char* key : {"task", "model"}) config[key] = json::object();
  return {
      .name = best_by, .config = config, .settings = json::object(), .checked = settings_of(config, {}, Device::cpu())};
}

RunResult trained(const RisingTask& task, const PlannedRun& run, const std::string& folder, std::int64_t at_once) {
  RunResult result;
  for (int turn = 0; turn < 20 && result.status == RunStatus::running; ++turn) {
    result = train_run({.task = &task,
                        .run = &run,
                        .folder = folder,
                        .resume = turn > 0,
                        .tensorboard = true,
                        .should_stop = [asked = std::int64_t{0}, at_once]() mutable { return asked++ >= at_once; }});
  }
  EXPECT_EQ(result.status, RunStatus::done) << result.error;
  return result;
}

TEST(TrainRun, FollowsTheSelectionOfTheTaskBitForBitWhenResumed) {
  const test::TemporaryFolder folder;
  const RisingTask task;
  const PlannedRun by_metric = planned(task, "accuracy"), by_loss = planned(task, "loss");
  const RunResult last = trained(task, by_metric, folder.file("metric"), 100);
  EXPECT_EQ(last.best_step, 12) << "the accuracy never stops rising";
  EXPECT_EQ(last.best_by, "");

  const RunResult whole = trained(task, by_loss, folder.file("whole"), 100);
  EXPECT_EQ(whole.best_step, 4);
  EXPECT_EQ(whole.steps_done, 8) << "two evaluations without a lower loss";
  EXPECT_EQ(whole.best_by, "loss");
  EXPECT_LT(metric_of(whole, "accuracy"), metric_of(last, "accuracy"));
  EXPECT_EQ(whole.metrics["confusion"], json::parse("[[3, 1], [0, 4]]"));

  const RunResult cut = trained(task, by_loss, folder.file("cut"), 1);
  EXPECT_EQ(cut.best_step, whole.best_step);
  EXPECT_EQ(cut.steps_done, whole.steps_done);
  EXPECT_EQ(cut.metrics, whole.metrics);
  EXPECT_EQ(cut.last_metrics, whole.last_metrics);
  for (const char* file : {"checkpoint.safetensors", "best.safetensors"}) {
    const auto one = nn::load_tensors(folder.file(std::string("whole/") + file)).tensors;
    const auto other = nn::load_tensors(folder.file(std::string("cut/") + file)).tensors;
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].first, other[i].first);
      if (one[i].second.dtype() != DType::float32) continue;
      EXPECT_EQ(one[i].second.to_vector<float>(), other[i].second.to_vector<float>()) << file << " " << one[i].first;
    }
  }
}

}  // namespace
}  // namespace bough::runner
