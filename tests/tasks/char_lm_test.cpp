#include "tasks/language_model/char_lm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cross_entropy.h"
#include "bough/tasks/generate.h"
#include "tasks/runner/experiment.h"
#include "tasks/runner/run_plan.h"
#include "tasks/runner/run_sweep.h"
#include "tests/support/files.h"

namespace bough {
namespace {

using nlohmann::json;
using runner::read_experiment;

json tiny() {
  return json::parse(R"({
    "task": {"corpus": {"kind": "turn_taking", "train_characters": 3000, "valid_characters": 300, "test_characters": 500},
             "length": 32},
    "model": {"layers": 3, "dim": 16, "heads": 2, "ffn": 16, "dropout": 0},
    "graph": {"kind": "bpt", "k": 1},
    "train": {"steps": 12, "tokens_per_batch": 64, "warmup": 2, "log_every": 4}})");
}

CharacterModelOptions model_options(const json& source) {
  const tasks::RunSettings run = read_experiment(source).runs.front().checked;
  return character_model_options(run.model, 7, *generators().make(run.graph), run.task.integer("length"));
}

TEST(CharLmModel, KnowsPositionsByRelationsAloneUnlessToldOtherwise) {
  const CharacterModelOptions options = model_options(tiny());
  EXPECT_EQ(options.input.positions, nn::Positions::relations);
  EXPECT_EQ(options.input.block_positions, 0);
  EXPECT_FALSE(options.input.norm);
  EXPECT_EQ(options.input.dropout, 0);
  EXPECT_EQ(options.output_dropout, 0);
  EXPECT_FALSE(options.transformer.layer.ignore_relations);
  EXPECT_GT(options.transformer.layer.num_relations, 1);
}

TEST(CharLmModel, ReadsPositionsInputNormAndDropouts) {
  json source = tiny();
  source["model"].update({{"positions", "sinusoidal"},
                          {"block_positions", 8},
                          {"input_norm", true},
                          {"input_dropout", 0.2},
                          {"output_dropout", 0.3},
                          {"norm_epsilon", 1e-3}});
  const CharacterModelOptions options = model_options(source);
  EXPECT_EQ(options.input.positions, nn::Positions::sinusoidal);
  EXPECT_EQ(options.input.block_positions, 8);
  EXPECT_EQ(options.input.max_length, 32);
  EXPECT_TRUE(options.input.norm);
  EXPECT_EQ(options.input.norm_epsilon, 1e-3);
  EXPECT_EQ(options.input.dropout, 0.2);
  EXPECT_EQ(options.output_dropout, 0.3);
  EXPECT_TRUE(options.transformer.layer.ignore_relations);
  EXPECT_EQ(options.transformer.layer.num_relations, 0);
  for (const char* positions : {"relations", "sinusoidal", "learned", "both", "none"}) {
    source["model"]["positions"] = positions;
    EXPECT_EQ(model_options(source).transformer.layer.ignore_relations,
              std::string(positions) != "relations" && std::string(positions) != "both");
  }
  source["model"]["positions"] = "sinusoid";
  EXPECT_THROW(read_experiment(source), ConfigError);
}

TEST(CharLmModel, OfACheckpointBeforeThereWerePositionsIsAsItWas) {
  json model = read_experiment(tiny()).runs.front().config["model"];
  for (const char* key : {"positions", "block_positions", "input_norm", "input_dropout", "output_dropout"}) {
    EXPECT_EQ(model.erase(key), 1u) << key;
  }
  const auto generator = generators().make(nlohmann::json("bpt"));
  const CharacterModelOptions options = character_model_options(Settings("model", model), 7, *generator, 32);
  EXPECT_EQ(options.input.positions, nn::Positions::relations);
  EXPECT_EQ(options.output_dropout, 0);
}

TEST(CharLmRun, WithLossesThatFadeByLayerHasTheMeanOfThoseThatTakePart) {
  json source = tiny();
  source["train"]["auxiliary"] = "fade_by_layer";
  source["train"]["auxiliary_weight"] = 7;  // does not count
  const tasks::RunSettings settings = read_experiment(source).runs.front().checked;
  const auto run = char_lm_task().start(settings);
  const auto& model = dynamic_cast<const CharacterModel&>(run->model());
  const TokenGraph graph(*generators().make(settings.graph), 32, 2, 3);
  const std::int64_t layers = 3, steps = 12;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const tasks::Batch batch = run->batch(step, 0);
    const std::vector<Tensor> scores = model.forward_every_layer(graph, batch[0]);
    double sum = 0, count = 0;
    for (std::int64_t i = 1; i <= layers; ++i) {
      if (i * steps <= layers * (step - 1)) continue;
      sum += cross_entropy(scores[static_cast<std::size_t>(i - 1)], batch[1]).item<double>();
      ++count;
    }
    EXPECT_NEAR(run->loss(batch, {step, steps}).item<double>(), sum / count, 1e-6) << step;
    EXPECT_EQ(run->can_replay({step, steps}), count == 1) << "from step 9 on the last layer is alone";
  }
  EXPECT_NE(char_lm_task().why_length_is_fixed(settings), "");
}

TEST(CharLmRun, WithAbsolutePositionsTrainsAndWritesFromItsCheckpoint) {
  for (const char* graph : {R"({"kind": "sparse_fixed", "stride": 8, "c": 2})", R"({"kind": "memory", "length": 8})"}) {
    const test::TemporaryFolder folder;
    json source = tiny();
    source["graph"] = json::parse(graph);
    source["task"]["carry_memory"] = false;  // absolute positions are those of one window
    source["model"].update({{"positions", "sinusoidal"},
                            {"block_positions", 8},
                            {"norm", "post"},
                            {"input_norm", true},
                            {"input_dropout", 0.1},
                            {"output_dropout", 0.1}});
    source["train"]["auxiliary"] = "fade_by_layer";
    const runner::Experiment experiment = read_experiment(source);
    const runner::SweepOutcome outcome =
        runner::run_sweep(experiment, runner::plan_runs(experiment), {.folder = folder.file("out")});
    ASSERT_EQ(outcome.failed, 0);
    const std::string run = folder.file("out/runs/" + experiment.runs.front().name);
    const GenerateOptions options{.prompt = "", .count = 40, .temperature = 0};
    const std::string text = generate_text(run + "/best.safetensors", options);
    EXPECT_EQ(text.size(), 40u) << "a window of 32 is left and begun anew";
    EXPECT_EQ(text, generate_text(run + "/best.safetensors", options));
  }
}

}  // namespace
}  // namespace bough
