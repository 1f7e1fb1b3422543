#include "bough/tasks/character_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"

namespace bough {
namespace {

CharacterModelOptions small(std::int64_t relations) {
  return {.vocabulary = 7,
          .transformer = {
              .layers = 3,
              .layer = {.dim = 16, .heads = 2, .feed_forward = 24, .num_relations = relations, .pre_norm = true}}};
}

std::vector<std::int32_t> some_characters(std::size_t count) {
  std::vector<std::int32_t> characters(count);
  for (std::size_t i = 0; i < count; ++i) characters[i] = static_cast<std::int32_t>((i * i + 3 * i) % 7);
  return characters;
}

Tensor scores_of(const CharacterModel& model, const TokenGraph& graph, const std::vector<std::int32_t>& characters) {
  const NoGrad no_grad;
  return model.forward(graph, Tensor::from_vector(characters, {static_cast<std::int64_t>(characters.size())}));
}

TEST(CharacterModel, NoPredictionDependsOnLaterCharactersOrOnOtherWindows) {
  for (const char* kind : {"bpt", "window", "full", "sparse_fixed", "logsparse", "bigbird", "kary", "memory"}) {
    const auto generator = generators().make(nlohmann::json(kind));
    const TokenGraph graph(*generator, 21, 2, 3);
    manual_seed(1);
    const CharacterModel model(small(generator->num_relations(21)));
    std::vector<std::int32_t> characters = some_characters(42);
    const std::vector<float> before = scores_of(model, graph, characters).to_vector<float>();
    characters[13] = (characters[13] + 1) % 7;
    const std::vector<float> after = scores_of(model, graph, characters).to_vector<float>();
    for (std::size_t i = 0; i < 13 * 7; ++i) ASSERT_EQ(before[i], after[i]) << kind;
    for (std::size_t i = 21 * 7; i < before.size(); ++i) ASSERT_EQ(before[i], after[i]) << kind;
    bool changed = false;
    for (std::size_t i = 13 * 7; i < 21 * 7; ++i) changed |= before[i] != after[i];
    EXPECT_TRUE(changed) << kind;
  }
}

TEST(CharacterModel, EveryLayerPredictsAndTheLastIsThePrediction) {
  const auto generator = generators().make("bpt", {{"k", 2}});
  const TokenGraph graph(*generator, 16, 2, 3);
  const CharacterModel model(small(generator->num_relations(16)));
  const Tensor characters = Tensor::from_vector(some_characters(32), {32});
  const NoGrad no_grad;
  const std::vector<Tensor> all = model.forward_every_layer(graph, characters);
  ASSERT_EQ(all.size(), 3u);
  for (const Tensor& scores : all) EXPECT_EQ(scores.shape(), (Shape{32, 7}));
  EXPECT_EQ(all.back().to_vector<float>(), model.forward(graph, characters).to_vector<float>());
  EXPECT_NE(all.front().to_vector<float>(), all.back().to_vector<float>());
}

TEST(CharacterModel, LayersBelowTheFirstThatIsAskedForDoNotPredict) {
  const auto generator = generators().make(nlohmann::json("memory"));
  const TokenGraph graph(*generator, 16, 2, 3);
  const CharacterModel model(small(generator->num_relations(16)));
  const Tensor characters = Tensor::from_vector(some_characters(32), {32});
  const NoGrad no_grad;
  const std::vector<Tensor> all = model.forward_every_layer(graph, characters);
  const std::vector<Tensor> upper = model.forward_every_layer(graph, characters, 1);
  ASSERT_EQ(upper.size(), 2u);
  EXPECT_EQ(upper[0].to_vector<float>(), all[1].to_vector<float>());
  EXPECT_EQ(upper[1].to_vector<float>(), all[2].to_vector<float>());
  EXPECT_THROW(model.forward_every_layer(graph, characters, 3), IndexError);
}

TEST(CharacterModel, WithoutRelationsOrPositionsSeesASetAndWithEitherASequence) {
  const auto generator = generators().make(nlohmann::json("full"));
  const std::int64_t length = 6;
  // Above one layer the causal mask tells positions too.
  const TokenGraph graph(*generator, length, 1, 1);
  const auto differ = [&](nn::Positions positions, std::int64_t block_positions) {
    CharacterModelOptions options = small(nn::uses_relations(positions) ? generator->num_relations(length) : 0);
    options.transformer.layers = 1;
    options.transformer.layer.ignore_relations = !nn::uses_relations(positions);
    options.input = {.max_length = length, .positions = positions, .block_positions = block_positions};
    manual_seed(1);
    const CharacterModel model(options);
    const std::vector<float> first = scores_of(model, graph, {1, 2, 3, 4, 5, 6}).rows(5, 6).to_vector<float>();
    const std::vector<float> second = scores_of(model, graph, {5, 4, 3, 2, 1, 6}).rows(5, 6).to_vector<float>();
    float largest = 0;
    for (std::size_t i = 0; i < first.size(); ++i) largest = std::max(largest, std::abs(first[i] - second[i]));
    return largest > 1e-3F;
  };
  EXPECT_FALSE(differ(nn::Positions::none, 0));
  EXPECT_TRUE(differ(nn::Positions::none, 2));
  EXPECT_TRUE(differ(nn::Positions::relations, 0));
  EXPECT_TRUE(differ(nn::Positions::sinusoidal, 0));
  EXPECT_TRUE(differ(nn::Positions::learned, 0));
  EXPECT_TRUE(differ(nn::Positions::both, 0));
}

TEST(CharacterModel, DropsInputsAndReadOutRowsInTrainingOnly) {
  const auto generator = generators().make(nlohmann::json("bpt"));
  const TokenGraph graph(*generator, 16, 1, 3);
  const std::vector<std::int32_t> characters = some_characters(16);
  for (const bool input : {true, false}) {
    CharacterModelOptions options = small(generator->num_relations(16));
    manual_seed(1);
    const CharacterModel plain(options);
    (input ? options.input.dropout : options.output_dropout) = 0.5;
    manual_seed(1);
    CharacterModel model(options);
    EXPECT_NE(scores_of(model, graph, characters).to_vector<float>(),
              scores_of(plain, graph, characters).to_vector<float>());
    model.eval();
    EXPECT_EQ(scores_of(model, graph, characters).to_vector<float>(),
              scores_of(plain, graph, characters).to_vector<float>());
  }
}

class CharacterModelOfTorch : public testing::TestWithParam<const char*> {};

TEST_P(CharacterModelOfTorch, HasTheSameScoresLossAndGradients) {
  constexpr test::Tolerance allowed{1e-4, 1e-4};
  std::map<std::string, Tensor> torch;
  const std::string file = std::string("/character_model_") + GetParam() + ".safetensors";
  for (auto& [name, tensor] : nn::load_tensors(BOUGH_FIXTURES + file).tensors) torch[name] = tensor;

  CharacterModel model(
      {.vocabulary = 5,
       .transformer = {.layers = 1, .layer = {.dim = 12, .heads = 3, .feed_forward = 20, .ignore_relations = true}},
       .input = {.max_length = 9,
                 .positions = nn::Positions::sinusoidal,
                 .block_positions = torch.contains("input.blocks.blocks") ? 3 : 0,
                 .norm = true}});
  nn::Module::NamedTensors state;
  for (const auto& [name, parameter] : model.named_parameters()) state.emplace_back(name, torch.at(name));
  model.load_state(state);
  const TokenGraph graph(*generators().make(nlohmann::json("full")), 7, 2, 1);
  const Tensor scores = model.forward(graph, torch.at("characters"));
  test::expect_close(scores, torch.at("scores"), allowed);
  const Tensor loss = cross_entropy(scores, torch.at("targets"));
  test::expect_close(loss.reshape({1}), torch.at("loss"), allowed);
  loss.backward();
  for (const auto& [name, parameter] : model.named_parameters()) {
    SCOPED_TRACE(name);
    test::expect_close(parameter.grad(), torch.at("gradient:" + name), allowed);
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, CharacterModelOfTorch, testing::Values("sinusoidal", "blocks"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(TokenGraph, ComputesOnlyTokensInTheLastLayerAndCountsOneWindow) {
  const auto generator = generators().make("bpt", {{"k", 4}});
  const TokenGraph graph(*generator, 256, 4, 3);
  EXPECT_NEAR(graph.attention_degree(), 21.0, 0.05);
  EXPECT_EQ(graph.num_nodes(), 511);
  EXPECT_LT(graph.computed_nodes(), 3 * 4 * 511);
  EXPECT_EQ(graph.parts().front().schedule.layers.back().front().graphs.front().num_dst(), 4 * 256);
}

TEST(TokenGraph, GoesThroughAWindowInTwoHalvesWhereThePatternRemembers) {
  const auto generator = generators().make("memory", {{"length", 5}});
  const TokenGraph graph(*generator, 21, 2, 3);
  ASSERT_EQ(graph.parts().size(), 2u);
  // The first half has 10 tokens, the second 11, each of which reads 5 of the first.
  EXPECT_EQ(graph.num_edges(), 10 * 11 / 2 + 11 * 12 / 2 + 11 * 5);
  EXPECT_DOUBLE_EQ(graph.attention_degree(), static_cast<double>(graph.num_edges()) / 21);
  EXPECT_NO_THROW(window_graph(*generator, 21).validate());
  EXPECT_EQ(window_graph(*generators().make(nlohmann::json("memory")), 7).graph.num_edges(), 7 * 8 / 2)
      << "with all there is to remember it is full attention";
}

TEST(TokenGraph, OfAPatternThatRemembersLetsNoGradientIntoTheFirstHalf) {
  const auto generator = generators().make(nlohmann::json("memory"));
  const TokenGraph graph(*generator, 8, 1, 3);
  manual_seed(1);
  CharacterModelOptions options = small(generator->num_relations(8));
  options.tied = false;
  const CharacterModel model(options);
  // Characters 0 to 3 stand in the first half only.
  const Tensor characters = Tensor::from_vector(std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 4}, {8});
  sum(square(model.forward(graph, characters).rows(4, 8))).backward();
  const Tensor gradient = model.named_parameters().front().second.grad();
  EXPECT_EQ(model.named_parameters().front().first, "embedding.weight");
  EXPECT_EQ(max(abs(gradient.rows(0, 4))).item<float>(), 0);
  EXPECT_GT(max(abs(gradient.rows(4, 7))).item<float>(), 0);
}

TEST(TokenGraph, RefusesAPatternThatReadsAnotherText) {
  EXPECT_THROW(TokenGraph(*generators().make(nlohmann::json("cross")), 32, 1, 2), ConfigError);
}

}  // namespace
}  // namespace bough
