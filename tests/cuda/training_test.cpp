#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bough/nn/averaging.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/gradient_accumulation.h"
#include "bough/nn/layers.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/optimizer_step.h"
#include "bough/ops/reduce.h"
#include "tasks/runner/run_sweep.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/support/files.h"

/// Training on a GPU, against the CPU.
namespace bough {
namespace {

using nlohmann::json;
using Named = std::map<std::string, std::vector<double>>;

class GpuTraining : public test::GpuTest {};

Named values_of(const nn::Module::NamedTensors& tensors) {
  Named result;
  for (const auto& [name, tensor] : tensors) result[name] = tensor.to_vector<double>();
  return result;
}

void expect_near(const Named& actual, const Named& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, values] : expected) {
    const std::vector<double>& others = actual.at(name);
    ASSERT_EQ(others.size(), values.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(others[i], values[i], tolerance) << name << " " << i;
  }
}

/// Classifies rows by two layers; small, but with weights of more than one chunk.
class Classifier : public nn::Module {
 public:
  Classifier() : inner_({.in = 12, .out = 350, .activation = Activation::gelu}), outer_({.in = 350, .out = 5}) {
    add_module("inner", inner_);
    add_module("outer", outer_);
  }
  Tensor loss(const Tensor& x, const Tensor& targets) const {
    return cross_entropy(outer_.forward(inner_.forward(x)), targets);
  }

 private:
  nn::Linear inner_, outer_;
};

struct Batch {
  Tensor x = test::random_tensor({9, 12}), targets = test::random_indices({9}, 0, 5);

  Batch on(Device device) const { return {x.to(device), targets.to(device)}; }
};

using MakeOptimizer = std::function<std::unique_ptr<nn::Optimizer>(const nn::Module&)>;

/// Parameters, state and losses after some steps.
Named trained(Device device, const MakeOptimizer& make_optimizer) {
  manual_seed(3);
  Classifier model;
  model.to(device);
  const auto optimizer = make_optimizer(model);
  const Batch batch = Batch().on(device);
  Named result;
  for (int step = 0; step < 3; ++step) {
    const Tensor loss = model.loss(batch.x, batch.targets);
    result["losses"].push_back(loss.item<double>());
    loss.backward();
    result["norms"].push_back(optimizer->step());
    optimizer->clear_grad();
  }
  result.merge(values_of(model.state()));
  result.merge(values_of(optimizer->state()));
  return result;
}

TEST_F(GpuTraining, EveryOptimizerStepsAsOnTheCpu) {
  const std::map<std::string, MakeOptimizer> optimizers{
      {"sgd", [](const nn::Module& m) { return std::make_unique<nn::Sgd>(m.named_parameters(), nn::SgdOptions{}); }},
      {"momentum",
       [](const nn::Module& m) {
         return std::make_unique<nn::Sgd>(m.named_parameters(),
                                          nn::SgdOptions{.momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
       }},
      {"adam",
       [](const nn::Module& m) {
         return std::make_unique<nn::Adam>(m.named_parameters(), nn::AdamOptions{.epsilon = 1e-3, .weight_decay = 0.1});
       }},
      {"adamw",
       [](const nn::Module& m) {
         return std::make_unique<nn::AdamW>(m.named_parameters(),
                                            nn::AdamOptions{.epsilon = 1e-3, .weight_decay = 0.1, .clip_norm = 0.1});
       }},
      {"adamw of matrices", [](const nn::Module& m) {
         return std::make_unique<nn::AdamW>(
             m.named_parameters(),
             nn::AdamOptions{.epsilon = 1e-3, .weight_decay = 0.1, .decayed = m.weight_matrices()});
       }}};
  for (const auto& [name, make] : optimizers) {
    SCOPED_TRACE(name);
    expect_near(trained(Device::cuda(), make), trained(Device::cpu(), make), 2e-6);
  }
}

TEST_F(GpuTraining, NormsAndScalesMixDevicesAndTypes) {
  std::vector<Tensor> tensors{full({5000}, 2, DType::float32, Device::cuda()), full({10}, 3, DType::float64),
                              full({7}, 1, DType::float64, Device::cuda())};
  EXPECT_NEAR(global_norm(tensors), std::sqrt(4.0 * 5000 + 9 * 10 + 7), 1e-9);
  scale_in_place(tensors, 0.5);
  EXPECT_EQ(tensors[0].to_vector<float>(), std::vector<float>(5000, 1.0f));
  EXPECT_EQ(tensors[1].to_vector<double>(), std::vector<double>(10, 1.5));
  EXPECT_EQ(tensors[2].to_vector<double>(), std::vector<double>(7, 0.5));
}

TEST_F(GpuTraining, AveragesAndAccumulatedGradientsMatchTheCpu) {
  const auto run_on = [](Device device) {
    manual_seed(4);
    Classifier model;
    model.to(device);
    nn::Sgd optimizer(model.named_parameters(), {.learning_rate = 0.1});
    nn::GradientAccumulation accumulation(optimizer);
    auto exponential = nn::ParameterAverage::exponential(model, 0.9), last = nn::ParameterAverage::last(model, 2);
    const Batch batch = Batch().on(device);
    for (int step = 0; step < 3; ++step) {
      accumulation.add(model.loss(batch.x.rows(0, 4), batch.targets.rows(0, 4)), 4);
      accumulation.add(model.loss(batch.x.rows(4, 9), batch.targets.rows(4, 9)), 5);
      accumulation.step();
      exponential.update();
      last.update();
    }
    Named result;
    for (const auto& [name, values] : values_of(exponential.average())) result["exponential " + name] = values;
    for (const auto& [name, values] : values_of(last.average())) result["last " + name] = values;
    return result;
  };
  expect_near(run_on(Device::cuda()), run_on(Device::cpu()), 1e-6);
}

TEST_F(GpuTraining, ACheckpointMovesBetweenDevices) {
  const test::TemporaryFolder folder;
  manual_seed(5);
  Classifier there, here;
  there.to(Device::cuda());
  nn::AdamW optimizer(there.named_parameters(), {}), loaded(here.named_parameters(), {});
  const Batch batch = Batch().on(Device::cuda());
  there.loss(batch.x, batch.targets).backward();
  optimizer.step();
  nn::save_checkpoint(folder.file("there"), there, {.optimizer = &optimizer});
  nn::load_checkpoint(folder.file("there"), here, {.optimizer = &loaded});
  expect_near(values_of(here.state()), values_of(there.state()), 0);
  expect_near(values_of(loaded.state()), values_of(optimizer.state()), 0);
  nn::save_checkpoint(folder.file("here"), here, {.optimizer = &loaded});
  nn::load_checkpoint(folder.file("here"), there, {.optimizer = &optimizer});
  expect_near(values_of(there.state()), values_of(here.state()), 0);
}

/// The character language model as `bough run` trains it. Gradients that are zero but for rounding must not decide
/// steps: hence the large epsilon.
json tiny(const json& graph) {
  json experiment = json::parse(R"({
    "name": "tiny",
    "task": {"corpus": {"kind": "text", "path": "train.txt", "valid_path": "valid.txt", "test_path": "valid.txt"},
             "length": 16},
    "model": {"layers": 2, "dim": 16, "heads": 2, "ffn": 16, "dropout": 0.1, "attention_dropout": 0.1},
    "train": {"steps": 3, "tokens_per_batch": 16, "log_every": 1, "evaluate_every": 3, "warmup": 1,
              "auxiliary_weight": 0.5, "epsilon": 1e-3}})");
  experiment["graph"] = graph;
  return experiment;
}

struct TrainedRun {
  json results;
  Named checkpoint;
};

TrainedRun run_on(Device device, const json& source, const std::string& data, const std::string& folder) {
  const runner::Experiment experiment = runner::read_experiment(source, {.data_folders = {data}, .device = device});
  const runner::SweepOutcome outcome = runner::run_sweep(experiment, runner::plan_runs(experiment), {.folder = folder});
  EXPECT_EQ(outcome.failed, 0);
  TrainedRun run{json::parse(test::file_content(folder + "/results.json"))["runs"][0], {}};
  EXPECT_EQ(run.results["status"], "done") << run.results;
  const std::string name = run.results["name"];
  run.checkpoint = values_of(nn::load_tensors(fmt::format("{}/runs/{}/checkpoint.safetensors", folder, name)).tensors);
  return run;
}

void write_texts(const test::TemporaryFolder& folder) {
  std::ofstream(folder.file("train.txt")) << "a text of some words that a model of few parameters can learn from";
  std::ofstream(folder.file("valid.txt")) << "few words of a text";
}

void expect_same_training(const json& source) {
  const test::TemporaryFolder folder;
  write_texts(folder);
  const TrainedRun gpu = run_on(Device::cuda(), source, folder.file(""), folder.file("gpu")),
                   cpu = run_on(Device::cpu(), source, folder.file(""), folder.file("cpu"));
  ASSERT_NEAR(gpu.results["metrics"]["bpc"].get<double>(), cpu.results["metrics"]["bpc"].get<double>(), 1e-5);
  ASSERT_EQ(gpu.results["curve"].size(), cpu.results["curve"].size());
  for (std::size_t i = 0; i < cpu.results["curve"].size(); ++i) {
    EXPECT_NEAR(gpu.results["curve"][i]["loss"].get<double>(), cpu.results["curve"][i]["loss"].get<double>(), 1e-5);
  }
  expect_near(gpu.checkpoint, cpu.checkpoint, 1e-5);
}

TEST_F(GpuTraining, ALanguageModelTrainsAsOnTheCpu) { expect_same_training(tiny({{"kind", "bpt"}, {"k", 1}})); }

TEST_F(GpuTraining, ALanguageModelThatRecomputesItsLayersTrainsAsOnTheCpu) {
  json source = tiny({{"kind", "window"}, {"width", 4}});
  source["model"]["activations"] = "checkpoint_layers";
  source["model"]["tied"] = false;
  expect_same_training(source);
}

/// Absolute positions and tables of blocks, norm and dropouts of inputs and outputs, losses that leave layer by layer.
json with_paper_settings(json source) {
  source["model"].update({{"positions", "sinusoidal"},
                          {"block_positions", 4},
                          {"norm", "post"},
                          {"input_norm", true},
                          {"input_dropout", 0.1},
                          {"output_dropout", 0.1}});
  source["train"]["auxiliary"] = "fade_by_layer";
  return source;
}

TEST_F(GpuTraining, ALanguageModelInPaperSettingsTrainsAsOnTheCpu) {
  expect_same_training(with_paper_settings(tiny({{"kind", "sparse_fixed"}, {"stride", 4}, {"c", 1}})));
}

void expect_same_training_if_captured(json source) {
  const test::TemporaryFolder folder;
  write_texts(folder);
  source["train"].update({{"auxiliary_weight", 0}, {"steps", 6}, {"warmup", 3}, {"log_every", 3}});
  const TrainedRun plain = run_on(Device::cuda(), source, folder.file(""), folder.file("plain"));
  source["train"]["captured"] = true;
  const TrainedRun captured = run_on(Device::cuda(), source, folder.file(""), folder.file("captured"));
  EXPECT_EQ(captured.results["metrics"], plain.results["metrics"]);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(captured.results["curve"].at(i)["loss"], plain.results["curve"].at(i)["loss"]);
  }
  expect_near(captured.checkpoint, plain.checkpoint, 0);
}

TEST_F(GpuTraining, ALanguageModelWhoseStepIsCapturedTrainsBitForBitAsAPlainOne) {
  expect_same_training_if_captured(tiny({{"kind", "bpt"}, {"k", 1}}));
}

TEST_F(GpuTraining, AStepIsCapturedOnceTheLastLayerPredictsAlone) {
  // Of two layers the lower one takes part in steps 1 to 3 of 6.
  expect_same_training_if_captured(with_paper_settings(tiny({{"kind", "window"}, {"width", 4}})));
}

TEST_F(GpuTraining, ALearnedReachTrainsAsOnTheCpu) {
  expect_same_training(tiny({{"kind", "adaptive_span"}, {"max_span", 8}, {"ramp", 4}}));
}

}  // namespace
}  // namespace bough
