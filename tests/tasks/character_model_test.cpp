#include "bough/tasks/character_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/reduce.h"

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
