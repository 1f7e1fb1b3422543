#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/ops/cross_entropy.h"
#include "bough/tasks/character_model.h"
#include "bough/tasks/generate.h"
#include "bough/tasks/run_experiment.h"
#include "tasks/language_model/evaluation.h"
#include "tasks/language_model/text_graphs.h"
#include "tests/support/files.h"
#include "tests/tasks/saved_tensors.h"

/// Transformer-XL: a text in segments, each of which remembers the states of those before.
namespace bough {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::int64_t layers = 3, dim = 16;

CharacterModelOptions small(const GraphGenerator& generator, std::int64_t length, bool pre_norm) {
  return {.vocabulary = 7,
          .transformer = nn::GraphTransformerOptions::for_graph(
              generator, length,
              {.layers = layers, .layer = {.dim = dim, .heads = 2, .feed_forward = 24, .pre_norm = pre_norm}})};
}

std::vector<std::int32_t> some_text(std::int64_t count) {
  std::vector<std::int32_t> text;
  for (std::int64_t i = 0; i < count; ++i) text.push_back(static_cast<std::int32_t>((i * i + 3 * i + i / 5) % 7));
  return text;
}

Tensor as_tensor(const std::vector<std::int32_t>& ids) { return Tensor::from_vector(ids, {std::ssize(ids)}); }

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 2e-5 * (1 + std::abs(y[i]))) << i;
}

/// Scores of a text read segment by segment, one row of the batch.
std::vector<Tensor> carried_scores(const CharacterModel& model, TextGraphs& graphs,
                                   const std::vector<std::int32_t>& text, std::int64_t segments) {
  nn::SegmentMemory memory;
  std::vector<Tensor> scores;
  const std::int64_t length = graphs.shape().length;
  for (std::int64_t i = 0; i < segments; ++i) {
    const std::vector<std::int32_t> segment(text.begin() + i * length, text.begin() + (i + 1) * length);
    scores.push_back(model.forward(graphs.after(i), as_tensor(segment), &memory));
  }
  return scores;
}

TEST(CarriedMemory, GivesTheScoresOfOneLongPassWhereItCoversEverything) {
  const std::int64_t length = 6, segments = 4, all = length * segments;
  const std::vector<std::int32_t> text = some_text(all);
  // Remembers the 18 tokens before a segment, so every token sees all before it, as in a full causal graph.
  const auto memory = generators().make("memory", {{"length", 18}});
  const auto full = generators().make("full", {{"max_distance", 23}});
  ASSERT_EQ(full->num_relations(all), memory->num_relations(length)) << "relations are distances in both";
  for (const bool pre_norm : {true, false}) {
    manual_seed(1);
    CharacterModel model(small(*memory, length, pre_norm));
    model.eval();
    const NoGrad no_grad;
    const Tensor whole = model.forward(TokenGraph(*full, all, 1, layers), as_tensor(text));
    TextGraphs graphs(*memory, {.length = length, .count = 1}, layers, true, Device::cpu());
    ASSERT_TRUE(graphs.carries());
    const std::vector<Tensor> scores = carried_scores(model, graphs, text, segments);
    for (std::int64_t i = 0; i < segments; ++i) {
      expect_near(scores[static_cast<std::size_t>(i)], whole.rows(i * length, (i + 1) * length));
    }
  }
}

TEST(CarriedMemory, GivesTheScoresOfTheJoinedGraphWhereItForgets) {
  for (const std::int64_t remembered : {2, 5, 6, 8, 13}) {
    const std::int64_t length = 6, segments = 5, all = length * segments;
    const std::vector<std::int32_t> text = some_text(all);
    const auto generator = generators().make("memory", {{"length", remembered}});
    manual_seed(2);
    CharacterModel model(small(*generator, length, true));
    model.eval();
    const NoGrad no_grad;
    TextGraphs graphs(*generator, {.length = length, .count = 1}, layers, true, Device::cpu());
    const std::vector<Tensor> scores = carried_scores(model, graphs, text, segments);
    // Token by token on one graph of all segments, which is how `bough generate` reads.
    const AttentionGraph joined = carried_graph(*generator, length, segments);
    EXPECT_NO_THROW(joined.validate());
    CharacterDecoder decoder(model, joined);
    for (std::int64_t i = 0; i < all; ++i) {
      expect_near(decoder.read(text[static_cast<std::size_t>(i)]).reshape({1, 7}),
                  scores[static_cast<std::size_t>(i / length)].rows(i % length, i % length + 1));
    }
  }
}

TEST(CarriedMemory, KeepsTheTextsOfABatchApartAndLetsNoGradientIntoTheSegmentBefore) {
  const std::int64_t length = 4;
  const auto generator = generators().make("memory", {{"length", 6}});
  manual_seed(3);
  CharacterModelOptions options = small(*generator, length, true);
  options.tied = false;
  const CharacterModel model(options);
  TextGraphs one(*generator, {.length = length, .count = 1}, layers, true, Device::cpu());
  TextGraphs two(*generator, {.length = length, .count = 2}, layers, true, Device::cpu());
  const std::vector<std::int32_t> text = some_text(24);
  nn::SegmentMemory both;
  for (std::int64_t i = 0; i < 3; ++i) {
    std::vector<std::int32_t> rows(text.begin() + i * length, text.begin() + (i + 1) * length);
    rows.insert(rows.end(), text.begin() + 12 + i * length, text.begin() + 12 + (i + 1) * length);
    const Tensor scores = model.forward(two.after(i), as_tensor(rows), &both);
    const NoGrad no_grad;
    const std::vector<std::int32_t> second(text.begin() + 12, text.end());
    expect_near(scores.rows(0, length), carried_scores(model, one, text, i + 1).back());
    expect_near(scores.rows(length, 2 * length), carried_scores(model, one, second, i + 1).back());
  }
  // Characters 0 to 3 stand in the first segment only.
  nn::SegmentMemory memory;
  model.forward(one.after(0), as_tensor({0, 1, 2, 3}), &memory);
  for (const Tensor& states : memory.layers) EXPECT_FALSE(states.requires_grad());
  const Tensor targets = as_tensor({1, 2, 3, 4});
  cross_entropy(model.forward(one.after(1), as_tensor({4, 5, 6, 4}), &memory), targets).backward();
  const Tensor gradient = model.named_parameters().front().second.grad();
  for (const float value : gradient.rows(0, 4).to_vector<float>()) EXPECT_EQ(value, 0);
  double size = 0;
  for (const float value : gradient.rows(4, 7).to_vector<float>()) size += std::abs(value);
  EXPECT_GT(size, 0);
}

TEST(CarriedMemory, IsOnlyForPatternsThatRemember) {
  for (const auto& [kind, remembers] : std::map<std::string, bool>{{"memory", true}, {"bpt", false}, {"full", false}}) {
    const auto generator = generators().make(json(kind));
    EXPECT_EQ(remembered_tokens(*generator, 16) > 0, remembers);
    TextGraphs graphs(*generator, {.length = 8, .count = 2}, 2, true, Device::cpu());
    EXPECT_EQ(graphs.carries(), remembers) << kind;
    EXPECT_EQ(&graphs.after(0) == &graphs.after(7), !remembers);
    EXPECT_EQ(&graphs.after(1), &graphs.after(7)) << "built once";
    EXPECT_FALSE(TextGraphs(*generator, {.length = 8, .count = 2}, 2, false, Device::cpu()).carries());
  }
  const auto nothing = generators().make("memory", {{"length", 0}});
  EXPECT_FALSE(TextGraphs(*nothing, {.length = 8, .count = 2}, 2, true, Device::cpu()).carries());
}

TEST(CarriedMemory, IsCarriedThroughTheWholeTextByAnEvaluation) {
  const std::int64_t length = 8, size = 35;
  const auto memory = generators().make("memory", {{"length", 32}});
  const auto full = generators().make("full", {{"max_distance", 39}});
  manual_seed(4);
  CharacterModel model(small(*memory, length, true));
  const auto text = std::make_shared<const std::vector<std::int32_t>>(some_text(size));
  const auto graphs =
      std::make_shared<TextGraphs>(*memory, WindowShape{.length = length, .count = 1}, layers, true, Device::cpu());
  const Evaluation evaluation({.tokens = text}, graphs, std::nullopt);
  const json metrics = evaluation.metrics(model, Device::cpu());
  const json again = evaluation.metrics(model, Device::cpu());
  EXPECT_EQ(metrics, again) << "each from the beginning of the text";
  model.eval();
  const NoGrad no_grad;
  const std::vector<std::int32_t> inputs(text->begin(), text->end() - 1), targets(text->begin() + 1, text->end());
  const double mean =
      cross_entropy(model.forward(TokenGraph(*full, size - 1, 1, layers), as_tensor(inputs)), as_tensor(targets))
          .item<double>();
  EXPECT_NEAR(metrics["bpc"].get<double>(), mean / std::log(2), 1e-6);
  EXPECT_NEAR(metrics["perplexity"].get<double>(), std::exp(mean), 1e-5);
}

json tiny() {
  return json::parse(R"({
    "name": "tiny",
    "task": {"corpus": {"kind": "turn_taking", "train_characters": 1200, "valid_characters": 300, "test_characters": 300},
             "length": 16},
    "model": {"layers": 2, "dim": 16, "heads": 2, "ffn": 16},
    "graph": {"kind": "memory", "memory_length": 40},
    "train": {"steps": 9, "tokens_per_batch": 128, "evaluate_every": 4}})");
}

class StopsAfter : public RunObserver {
 public:
  explicit StopsAfter(int steps) : left_(steps) {}
  bool should_stop() override { return left_-- <= 0; }

 private:
  int left_;
};

/// 8 streams of 150 characters or more: an epoch has 9 steps, and the memory is full after three of them.
TEST(CarriedMemory, IsResumedBitForBit) {
  for (const char* parts : {"train.gradient_accumulation=1", "train.gradient_accumulation=4"}) {
    const test::TemporaryFolder folder;
    const RunOptions whole{.folder = folder.file("whole"), .overrides = {parts, "train.steps=12"}};
    const ExperimentResults expected = run_experiment(tiny(), whole);
    ASSERT_EQ(expected.failed, 0) << expected.runs[0].error;
    RunStatus status = RunStatus::running;
    int turns = 0;
    for (; turns < 30 && status != RunStatus::done; ++turns) {
      StopsAfter observer(3);
      const ExperimentResults cut = run_experiment(
          tiny(), {.folder = folder.file("cut"), .overrides = whole.overrides, .resume = true, .observer = &observer});
      ASSERT_EQ(cut.failed, 0) << cut.runs[0].error;
      status = cut.runs[0].status;
      if (status == RunStatus::done) {
        EXPECT_EQ(cut.runs[0].metrics, expected.runs[0].metrics);
      }
    }
    EXPECT_GT(turns, 3);
    const auto saved = [&](const char* name) {
      const std::string run = std::string(name) + "/runs/" + expected.runs[0].name;
      return test::saved_tensors(folder.file(run + "/checkpoint.safetensors"));
    };
    EXPECT_TRUE(saved("whole").contains("own:memory.0.1"));
    EXPECT_EQ(saved("cut"), saved("whole"));
  }
}

TEST(CarriedMemory, IsTheSameForAnyNumberOfMicroBatchesAndCanBeLeftOut) {
  const auto bpc = [](std::vector<std::string> overrides) {
    const ExperimentResults results = run_experiment(tiny(), {.overrides = std::move(overrides)});
    EXPECT_EQ(results.failed, 0) << results.runs[0].error;
    return results.runs[0].metrics.at("bpc");
  };
  EXPECT_NEAR(bpc({"model.dropout=0", "train.gradient_accumulation=4"}), bpc({"model.dropout=0"}), 1e-3);
  const double whole = bpc({});
  EXPECT_GT(std::abs(bpc({"task.carry_memory=false"}) - whole), 1e-3);
  const double longer = bpc({"task.evaluation_length=32"});
  EXPECT_NEAR(longer, whole, 0.5);
  EXPECT_NE(longer, whole);
}

TEST(CarriedMemory, RefusesCapturedStepsAndTextsThatAreTooShort) {
  const auto error = [](const char* change) {
    try {
      run_experiment(tiny(), {.overrides = {change}});
    } catch (const Error& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  EXPECT_THAT(error("train.captured=true"), HasSubstr("set train.captured or task.carry_memory to false"));
  EXPECT_THAT(error("model.positions=sinusoidal"), HasSubstr("set model.positions to \"relations\""));
  EXPECT_THAT(error("train.tokens_per_batch=4096"), HasSubstr("use a longer text or fewer windows a step"));
}

TEST(Generate, ContinuesATextWithACarriedMemory) {
  const test::TemporaryFolder folder;
  const ExperimentResults results = run_experiment(tiny(), {.folder = folder.file("out")});
  const std::string checkpoint = folder.file("out/runs/" + results.runs.at(0).name + "/best.safetensors");
  const TrainedCharacterModel trained = load_character_model(checkpoint);
  EXPECT_TRUE(trained.carries_memory);
  EXPECT_EQ(trained.decoding_graph().num_tokens(), 4 * 16) << "40 remembered tokens are three segments";
  const std::string text = generate_text(checkpoint, {.prompt = "Ash ", .count = 100});
  EXPECT_EQ(text.size(), 104u);
}

}  // namespace
}  // namespace bough
