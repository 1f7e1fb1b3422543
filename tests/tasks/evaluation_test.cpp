#include "tasks/language_model/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/cross_entropy.h"
#include "bough/tasks/run_experiment.h"

namespace bough {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Evaluation, ScoresTheLastTokensOfEachWindowGivenTheOthers) {
  const std::int64_t length = 12, stride = 3, size = 40;
  std::vector<std::int32_t> text;
  for (std::int32_t i = 0; i < size; ++i) text.push_back((i * i + i / 3) % 7);
  const auto generator = generators().make("bpt", {{"k", 1}});
  manual_seed(1);
  CharacterModel model({.vocabulary = 7,
                        .transformer = nn::GraphTransformerOptions::for_graph(
                            *generator, length, {.layers = 2, .layer = {.dim = 8, .heads = 2, .feed_forward = 8}})});
  const auto graphs =
      std::make_shared<TextGraphs>(*generator, WindowShape{.length = length, .count = 4}, 2, true, Device::cpu());
  const Evaluation evaluation({.tokens = std::make_shared<const std::vector<std::int32_t>>(text)}, graphs, stride);
  const json metrics = evaluation.metrics(model, Device::cpu());

  // Window by window: tokens 10 .. 39 in threes, each with nine tokens or more before it in its window.
  const NoGrad no_grad;
  const TokenGraph one(*generator, length, 1, 2);
  double nats = 0;
  for (std::int64_t first = length - stride; first + stride < size; first += stride) {
    const auto begin = text.begin() + first - (length - stride);
    const Tensor scores =
        model.forward(one, Tensor::from_vector(std::vector<std::int32_t>(begin, begin + length), {length}));
    const Tensor targets =
        Tensor::from_vector(std::vector<std::int32_t>(begin + length - stride + 1, begin + length + 1), {stride});
    nats += stride * cross_entropy(scores.rows(length - stride, length), targets).item<double>();
  }
  EXPECT_NEAR(metrics["bpc"].get<double>(), nats / std::log(2) / 30, 1e-6);
  EXPECT_NEAR(metrics["perplexity"].get<double>(), std::exp(nats / 30), 1e-5);
}

json tiny() {
  return json::parse(R"({
    "task": {"corpus": {"kind": "turn_taking", "train_characters": 2000, "valid_characters": 300, "test_characters": 500},
             "length": 16},
    "model": {"layers": 1, "dim": 12, "heads": 2, "ffn": 16},
    "train": {"steps": 2, "tokens_per_batch": 64},
    "graph": "bpt"})");
}

TEST(EvaluationLength, MayDifferFromThatOfTrainingForEveryCausalPattern) {
  json source = tiny();
  source["sweep"]["graph"] = json::parse(R"([
    {"kind": "adaptive_span", "max_span": 8}, {"kind": "bigbird", "width": 2, "global": 2, "random": 2},
    {"kind": "blocks", "size": 4}, {"kind": "bpt", "k": 2}, {"kind": "bpt", "k": 1, "alignment": "slot", "clip_levels": 2},
    {"kind": "causal", "of": {"kind": "expander", "degree": 3}}, {"kind": "dilated", "width": 3, "dilation": 2},
    "full", {"kind": "full", "max_distance": 6}, {"kind": "hierarchical", "size": 4}, {"kind": "kary", "arity": 3, "k": 2},
    "logsparse", {"kind": "longformer", "width": 3}, "memory", {"kind": "memory", "memory_length": 5},
    {"kind": "sparse_fixed", "stride": 5, "c": 2}, {"kind": "sparse_strided", "stride": 4, "split_heads": true},
    {"kind": "union", "of": [{"kind": "bpt", "k": 1}, {"kind": "window", "width": 3}]}, {"kind": "window", "width": 3}])");
  for (const char* length : {"task.evaluation_length=40", "task.evaluation_length=9"}) {
    const ExperimentResults results = run_experiment(source, {.overrides = {length}});
    for (const RunOutcome& run : results.runs) {
      EXPECT_EQ(run.status, RunStatus::done) << run.name << " " << run.error;
    }
    EXPECT_EQ(results.runs.size(), 19u);
  }
}

TEST(EvaluationLength, ChangesTheScoreAndNotTheTrainingWhereRelationsAreTheSame) {
  const auto outcome = [](std::vector<std::string> overrides) {
    overrides.emplace_back(R"(graph={"kind":"window","width":6})");
    const ExperimentResults results = run_experiment(tiny(), {.overrides = std::move(overrides)});
    EXPECT_EQ(results.failed, 0) << results.runs[0].error;
    return results;
  };
  const ExperimentResults same = outcome({}),
                          given = outcome({"task.evaluation_length=16", "task.evaluation_stride=8"}),
                          longer = outcome({"task.evaluation_length=64"}),
                          strided = outcome({"task.evaluation_stride=2"});
  EXPECT_EQ(given.runs[0].metrics, same.runs[0].metrics) << "the default is the second half of a window as in training";
  EXPECT_NE(longer.runs[0].metrics, same.runs[0].metrics);
  EXPECT_NE(strided.runs[0].metrics, same.runs[0].metrics);
  const auto loss = [](const ExperimentResults& results) {
    return results.document->at("runs").at(0).at("curve").back().at("loss");
  };
  EXPECT_EQ(loss(longer), loss(same));
}

TEST(EvaluationLength, IsPartOfThePlanAndCheckedBeforeAnythingStarts) {
  class Planned : public RunObserver {
   public:
    void on_plan(const ExperimentPlan& plan) override { memory = plan.runs.at(0).memory_bytes; }
    std::int64_t memory = 0;
  };
  const auto memory = [](const char* override) {
    Planned observer;
    run_experiment(tiny(), {.overrides = {override}, .plan_only = true, .observer = &observer});
    return observer.memory;
  };
  EXPECT_GT(memory("task.evaluation_length=280"), memory("task.evaluation_length=16"));
  const auto error = [](std::vector<std::string> overrides) {
    try {
      run_experiment(tiny(), {.overrides = std::move(overrides)});
    } catch (const Error& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  EXPECT_THAT(error({"task.evaluation_stride=17"}), HasSubstr("evaluation_stride = 17 is more than a window of 16"));
  EXPECT_THAT(error({"task.evaluation_length=5000"}), HasSubstr("task.evaluation_length = 5000"));
}

}  // namespace
}  // namespace bough
