#include <fstream>
#include <nlohmann/json.hpp>

#include "bough/core/random.h"
#include "bough/tasks/generate.h"
#include "tasks/runner/run_sweep.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/support/files.h"

/// Generating text on a GPU, against the CPU.
namespace bough {
namespace {

using nlohmann::json;

class GpuGeneration : public test::GpuTest {};

/// Scores after every character of a short text, one row each.
Tensor decoded(const GraphGenerator& generator, Device device) {
  constexpr std::int64_t length = 9, layers = 2;
  manual_seed(3);
  CharacterModel model(
      {.vocabulary = 7,
       .transformer = nn::GraphTransformerOptions::for_graph(
           generator, length,
           {.layers = layers, .layer = {.dim = 8, .heads = 2, .feed_forward = 12, .pre_norm = true}})});
  model.to(device);
  model.eval();
  CharacterDecoder decoder(model, generator, length);
  std::vector<float> scores;
  for (std::int32_t i = 0; i < length; ++i) {
    const Tensor next = decoder.read((i * i + 3) % 7);
    EXPECT_EQ(next.device(), device);
    for (const float score : next.to_vector<float>()) scores.push_back(score);
  }
  return Tensor::from_vector(scores, {length, 7});
}

TEST_F(GpuGeneration, DecodingStepByStepMatchesTheCpu) {
  for (const json& pattern :
       {json{{"kind", "bpt"}, {"k", 1}}, json{{"kind", "sparse_strided"}, {"stride", 4}, {"split_heads", true}},
        json{{"kind", "adaptive_span"}, {"max_span", 6}, {"ramp", 4}}}) {
    SCOPED_TRACE(pattern.dump());
    const auto generator = generators().make(pattern);
    test::expect_close(decoded(*generator, Device::cuda()), decoded(*generator, Device::cpu()),
                       test::Tolerance{.relative = 1e-4, .absolute = 1e-5});
  }
}

TEST_F(GpuGeneration, ATrainedModelWritesTheSameTextAsOnTheCpu) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("text.txt")) << "a text of some words that a model of few parameters can learn from";
  const runner::Experiment experiment = runner::read_experiment(json::parse(R"({"name": "tiny",
                      "task": {"corpus": {"kind": "text", "path": "text.txt", "valid_path": "text.txt",
                                          "test_path": "text.txt"}, "length": 8},
                      "model": {"layers": 1, "dim": 16, "heads": 2, "ffn": 16},
                      "graph": {"kind": "bpt", "k": 1},
                      "train": {"steps": 20, "tokens_per_batch": 64, "learning_rate": 0.02}})"),
                                                                {.data_folders = {folder.file("")}});
  runner::run_sweep(experiment, runner::plan_runs(experiment), {.folder = folder.file("out")});
  const auto written = [&](Device device) {
    return generate_text(folder.file("out/runs/" + experiment.runs[0].name + "/checkpoint.safetensors"),
                         {.prompt = "a te", .count = 20, .temperature = 0.5, .seed = 7, .device = device});
  };
  const std::string there = written(Device::cuda());
  EXPECT_EQ(there.size(), 24u);
  EXPECT_EQ(there, written(Device::cpu()));
}

}  // namespace
}  // namespace bough
