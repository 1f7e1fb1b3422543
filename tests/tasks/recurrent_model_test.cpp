// Language models of recurrent layers: as a module, in experiments, and writing text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/arrange.h"
#include "bough/tasks/generate.h"
#include "bough/tasks/run_experiment.h"
#include "tasks/language_model/char_lm.h"
#include "tasks/model_kind.h"
#include "tasks/runner/experiment.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace bough {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Cell = nn::RecurrentCellKind;

const json skipping = {{"kind", "union"}, {"of", {{{"kind", "chain"}}, {{"kind", "chain"}, {"skip", 4}}}}};

CharacterModelOptions small(Cell cell, std::int64_t depth = 1) {
  return {.vocabulary = 11,
          .recurrent = nn::RecurrentStackOptions{.dim = 16, .layers = 2, .cell = cell, .depth = depth, .dropout = 0.1},
          .output_dropout = 0.1};
}

std::vector<std::int32_t> some_characters(std::int64_t count) {
  std::vector<std::int32_t> characters;
  for (std::int32_t i = 0; i < count; ++i) characters.push_back((i * i + 5 * i) % 11);
  return characters;
}

TEST(RecurrentCharacterModel, DecodesTheScoresOfTheWholeWindow) {
  const std::int64_t length = 21;
  const std::vector<std::int32_t> characters = some_characters(length);
  const auto expect_equal = [&](const CharacterModelOptions& options, const json& pattern) {
    const auto generator = generators().make(pattern);
    manual_seed(3);
    CharacterModel model(options);
    model.eval();
    const NoGrad no_grad;
    const Tensor whole = model.forward(TokenGraph(*generator, length, 1, 2), Tensor::from_vector(characters, {length}));
    CharacterDecoder decoder(model, *generator, length);
    for (int round = 0; round < 2; ++round, decoder.restart()) {
      std::vector<Tensor> rows;
      for (const std::int32_t character : characters) rows.push_back(decoder.read(character).reshape({1, 11}));
      test::expect_close(concatenate(rows, 0), whole);
      EXPECT_EQ(decoder.position(), decoder.length());
      EXPECT_EQ(decoder.edges_followed(), pattern == skipping ? 2 : 1);
    }
  };
  for (const Cell cell : {Cell::lstm, Cell::mlstm, Cell::qrnn}) expect_equal(small(cell), "chain");
  expect_equal(small(Cell::rhn, 3), "chain");
  expect_equal(small(Cell::lstm), skipping);
  CharacterModelOptions placed = small(Cell::lstm);
  placed.input = {.max_length = length, .positions = nn::Positions::sinusoidal, .norm = true};
  expect_equal(placed, "chain");
}

TEST(RecurrentCharacterModel, StartsFromZerosInEachWindow) {
  const auto chain = generators().make("chain");
  CharacterModel model(small(Cell::lstm));
  model.eval();
  const std::vector<std::int32_t> characters = some_characters(8);
  const Tensor together = model.forward(TokenGraph(*chain, 4, 2, 2), Tensor::from_vector(characters, {8}));
  const Tensor second = Tensor::from_vector(std::vector(characters.begin() + 4, characters.end()), {4});
  test::expect_close(together.rows(4, 8), model.forward(TokenGraph(*chain, 4, 1, 2), second));
}

TEST(RecurrentCharacterModel, RefusesWhatItCannotBe) {
  CharacterModelOptions both = small(Cell::lstm);
  both.recurrent->bidirectional = true;
  EXPECT_THAT(test::error_message<ConfigError>([&] { const CharacterModel model(both); }), HasSubstr("bidirectional"));
  const CharacterModel model(small(Cell::lstm));
  EXPECT_THROW(model.transformer(), ConfigError);
  const Tensor characters = Tensor::from_vector(some_characters(8), {8});
  EXPECT_THROW(model.forward_every_layer(TokenGraph(*generators().make("chain"), 8, 1, 2), characters), ConfigError);
  for (const char* pattern : {"bpt", "memory", "adaptive_span", "hierarchical"}) {
    const TokenGraph graph(*generators().make(pattern), 8, 1, 2);
    EXPECT_THAT(test::error_message<ConfigError>([&] { model.forward(graph, characters); }),
                HasSubstr("use {\"kind\": \"chain\"}"))
        << pattern;
  }
  EXPECT_THROW(model.forward(TokenGraph(*generators().make("window"), 8, 1, 2), characters), GraphError);
  EXPECT_THROW(CharacterDecoder(model, *generators().make("bpt"), 8), ConfigError);
}

json tiny() {
  return json::parse(R"({
    "task": {"corpus": {"kind": "turn_taking", "train_characters": 8000, "valid_characters": 600, "test_characters": 600},
             "length": 32},
    "model": {"kind": "recurrent", "layers": 2, "dim": 24, "dropout": 0.05},
    "graph": "chain",
    "train": {"steps": 30, "tokens_per_batch": 512, "warmup": 3, "learning_rate": 0.02}})");
}

TEST(RecurrentRun, LearnsWithEveryCellAndWritesText) {
  json source = tiny();
  source["sweep"] = {{"model.cell", {"lstm", "mlstm", "rhn", "qrnn"}}};
  const test::TemporaryFolder folder;
  const ExperimentResults results = run_experiment(source, {.folder = folder.file("out")});
  ASSERT_EQ(results.failed, 0) << results.runs[0].error;
  ASSERT_EQ(results.runs.size(), 4u);
  const json saved = json::parse(test::file_content(folder.file("out/results.json")));
  for (std::size_t i = 0; i < results.runs.size(); ++i) {
    const json& run = saved.at("runs").at(i);
    SCOPED_TRACE(run.at("name").get<std::string>());
    // Guessing among the 60 or so characters of the text costs about 6 bits.
    EXPECT_LT(run.at("metrics").at("bpc").get<double>(), 4.5);
    EXPECT_EQ(run.at("num_edges"), 31);
    EXPECT_DOUBLE_EQ(run.at("attention_degree").get<double>(), 31.0 / 32);
    const std::string checkpoint = folder.file("out/runs/" + run.at("name").get<std::string>() + "/best.safetensors");
    const TrainedCharacterModel trained = load_character_model(checkpoint);
    EXPECT_EQ(run.at("parameters"), trained.model->parameter_count());
    EXPECT_EQ(nn::to_string(trained.model->recurrent().options().cell),
              source["sweep"]["model.cell"][i].get<std::string>());
    const GenerateOptions options{.count = 40, .temperature = 0};
    const std::string text = generate_text(checkpoint, options);
    EXPECT_EQ(text.size(), 40u) << "a window of 32 is left and begun anew";
    EXPECT_EQ(text, generate_text(checkpoint, options));
  }
}

TEST(RecurrentRun, KnowsWhatItWillCost) {
  const auto facts = [](const json& source) {
    const tasks::RunSettings settings = runner::read_experiment(source).runs.front().checked;
    return char_lm_task().start(settings)->facts();
  };
  json source = tiny();
  const tasks::RunFacts few = facts(source);
  source["model"]["layers"] = 4;
  const tasks::RunFacts many = facts(source);
  EXPECT_EQ(few.num_nodes, 32);
  EXPECT_GT(few.memory_bytes, 0);
  EXPECT_GT(many.memory_bytes, few.memory_bytes);
  // Two operations for each weight and token, three times.
  EXPECT_NEAR(many.operations_per_step - few.operations_per_step,
              6.0 * 512 * static_cast<double>(many.parameters - few.parameters), 1);
}

TEST(RecurrentRun, RefusesWhatIsForAttentionOrSeesTheFuture) {
  const auto refusal = [](const json& change) {
    json source = tiny();
    source.merge_patch(change);
    return test::error_message<ConfigError>([&] { runner::read_experiment(source); });
  };
  EXPECT_THAT(refusal({{"model", {{"bidirectional", true}}}}), HasSubstr("tokens that are to be predicted"));
  EXPECT_THAT(refusal({{"model", {{"heads", 2}}}}), HasSubstr("heads is a key of kind \"graph_transformer\""));
  EXPECT_THAT(refusal({{"model", {{"ffn", 64}}}}), HasSubstr("ffn is a key of kind \"graph_transformer\""));
  EXPECT_THAT(refusal({{"model", {{"depth", 2}}}}), HasSubstr("depth = 2 is for the cell rhn, not for lstm"));
  EXPECT_THAT(refusal({{"model", {{"kind", "graph_transformer"}, {"cell", "rhn"}}}}),
              HasSubstr("cell is a key of kind \"recurrent\""));
  EXPECT_THAT(refusal({{"train", {{"auxiliary_weight", 0.5}}}}), HasSubstr("auxiliary losses"));
  EXPECT_THAT(refusal({{"train", {{"auxiliary", "fade_by_layer"}}}}), HasSubstr("auxiliary losses"));
  EXPECT_THAT(refusal({{"train", {{"span_weight", 0.5}}}}), HasSubstr("span_weight"));
  for (const char* pattern : {"bpt", "window", "memory", "adaptive_span"}) {
    EXPECT_THAT(refusal({{"graph", pattern}}), HasSubstr("use {\"kind\": \"chain\"}")) << pattern;
  }
  EXPECT_THAT(refusal({{"graph", skipping}, {"model", {{"cell", "qrnn"}}}}), HasSubstr("qrnn takes one"));
  json source = tiny();
  source["graph"] = skipping;
  source["model"]["dim"] = 25;  // which the default number of heads does not divide
  EXPECT_NO_THROW(runner::read_experiment(source));
}

TEST(ModelKind, OfSettingsThatHaveNoneIsAGraphTransformer) {
  EXPECT_FALSE(tasks::is_recurrent(Settings("model", {{"layers", 2}, {"dim", 16}})));
  EXPECT_TRUE(tasks::is_recurrent(Settings("model", {{"kind", "recurrent"}})));
}

}  // namespace
}  // namespace bough
