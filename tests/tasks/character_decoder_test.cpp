#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/tasks/character_model.h"
#include "bough/tasks/generate.h"

namespace bough {
namespace {

CharacterModelOptions small(const GraphGenerator& generator, std::int64_t length, bool pre_norm) {
  return {.vocabulary = 11,
          .transformer = nn::GraphTransformerOptions::for_graph(
              generator, length,
              {.layers = 3, .layer = {.dim = 16, .heads = 2, .feed_forward = 24, .pre_norm = pre_norm}})};
}

TEST(CharacterDecoder, GivesTheScoresOfTheWholeWindowForEveryPattern) {
  const std::int64_t length = 45;
  std::vector<std::int32_t> characters;
  for (std::int32_t i = 0; i < length; ++i) characters.push_back((i * i + 5 * i) % 11);
  for (const char* specification :
       {R"({"kind":"bpt","k":1})", R"({"kind":"bpt","k":4,"alignment":"slot"})", R"({"kind":"window","width":7})",
        R"({"kind":"full"})", R"({"kind":"sparse_fixed","stride":8,"c":2})",
        R"({"kind":"sparse_strided","stride":6,"split_heads":true})", R"({"kind":"kary","arity":3,"k":2})",
        R"({"kind":"logsparse"})", R"({"kind":"longformer","width":6})", R"({"kind":"hierarchical","size":8})",
        R"({"kind":"adaptive_span","max_span":12,"ramp":4})", R"({"kind":"blocks","size":8})",
        R"({"kind":"bigbird","width":4,"global":2,"random":2,"seed":1})",
        R"({"kind":"dilated","width":4,"dilation":3})", R"({"kind":"memory"})",
        R"({"kind":"memory","memory_length":5})"}) {
    const auto generator = generators().make(nlohmann::json::parse(specification));
    for (const bool pre_norm : {true, false}) {
      const TokenGraph graph(*generator, length, 1, 3);
      manual_seed(3);
      CharacterModel model(small(*generator, length, pre_norm));
      model.eval();
      const NoGrad no_grad;
      const Tensor whole = model.forward(graph, Tensor::from_vector(characters, {length}));
      CharacterDecoder decoder(model, *generator, length);
      std::int64_t edges = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const std::vector<float> scores = decoder.read(characters[static_cast<std::size_t>(i)]).to_vector<float>();
        const std::vector<float> expected = whole.rows(i, i + 1).to_vector<float>();
        for (std::size_t c = 0; c < scores.size(); ++c) {
          ASSERT_NEAR(scores[c], expected[c], 2e-5 * (1 + std::abs(expected[c]))) << specification << " at " << i;
        }
        edges += decoder.edges_followed();
      }
      if (window_graph(*generator, length).head_groups.empty()) {
        EXPECT_EQ(edges, graph.num_edges()) << "each edge is followed once";
      }
      EXPECT_THROW(decoder.read(0), IndexError);
    }
  }
}

TEST(CharacterDecoder, GivesTheScoresOfTheWholeWindowWithEveryKindOfPositions) {
  const std::int64_t length = 21;
  std::vector<std::int32_t> characters;
  for (std::int32_t i = 0; i < length; ++i) characters.push_back((i * i + 5 * i) % 11);
  for (const char* specification :
       {R"({"kind":"bpt","k":2})", R"({"kind":"sparse_fixed","stride":8,"c":2})", R"({"kind":"memory","length":5})"}) {
    const auto generator = generators().make(nlohmann::json::parse(specification));
    for (const nn::Positions positions : {nn::Positions::relations, nn::Positions::sinusoidal, nn::Positions::learned,
                                          nn::Positions::both, nn::Positions::none}) {
      CharacterModelOptions options{
          .vocabulary = 11,
          .transformer =
              nn::GraphTransformerOptions::for_graph(*generator, length,
                                                     {.layers = 2,
                                                      .layer = {.dim = 16,
                                                                .heads = 2,
                                                                .feed_forward = 24,
                                                                .ignore_relations = !uses_relations(positions),
                                                                .dropout = 0.1}}),
          .input = {.max_length = length, .positions = positions, .block_positions = 8, .dropout = 0.1, .norm = true},
          .output_dropout = 0.1};
      manual_seed(3);
      CharacterModel model(options);
      model.eval();
      const NoGrad no_grad;
      const TokenGraph graph(*generator, length, 1, 2);
      const std::vector<float> whole =
          model.forward(graph, Tensor::from_vector(characters, {length})).to_vector<float>();
      CharacterDecoder decoder(model, *generator, length);
      for (int round = 0; round < 2; ++round, decoder.restart()) {
        for (std::size_t i = 0; i < characters.size(); ++i) {
          const std::vector<float> scores = decoder.read(characters[i]).to_vector<float>();
          for (std::size_t c = 0; c < scores.size(); ++c) {
            ASSERT_NEAR(scores[c], whole[i * 11 + c], 2e-5 * (1 + std::abs(scores[c]))) << specification << " at " << i;
          }
        }
      }
    }
  }
}

TEST(CharacterDecoder, AttentionWorkOfATokenGrowsLikeTheLogarithmOfTheContext) {
  const auto generator = generators().make("bpt", {{"k", 4}});
  const CharacterModel model(small(*generator, 4096, true));
  const auto mean_edges = [&](std::int64_t length) {
    const AttentionGraph built = generator->build({.length = length, .causal = true});
    return static_cast<double>(built.graph.num_edges()) / static_cast<double>(length);
  };
  CharacterDecoder decoder(model, *generator, 512);
  std::int64_t edges = 0;
  for (int i = 0; i < 512; ++i) {
    decoder.read(i % 11);
    edges += decoder.edges_followed();
  }
  EXPECT_DOUBLE_EQ(static_cast<double>(edges) / 512, mean_edges(512));
  EXPECT_LT(mean_edges(4096) - mean_edges(2048), 1.2 * (mean_edges(2048) - mean_edges(1024)));
}

TEST(CharacterDecoder, RefusesLengthsAndPatternsWithMoreRelationsThanTheModelHas) {
  const auto tree = generators().make("bpt", {{"k", 1}});
  const auto window = generators().make("window", {{"width", 64}});
  const CharacterModel model(small(*tree, 8, true));
  EXPECT_NO_THROW(CharacterDecoder(model, *tree, 4));
  EXPECT_THROW(CharacterDecoder(model, *tree, 80), ConfigError);
  EXPECT_THROW(CharacterDecoder(model, *window, 64), ConfigError);
}

TEST(CharacterDecoder, StartsAnewAfterARestart) {
  const auto generator = generators().make("bpt", {{"k", 2}});
  const CharacterModel model(small(*generator, 16, true));
  CharacterDecoder decoder(model, *generator, 16);
  const auto read_three = [&] {
    decoder.read(1);
    decoder.read(2);
    return decoder.read(3).to_vector<float>();
  };
  const std::vector<float> first = read_three();
  decoder.restart();
  EXPECT_EQ(read_three(), first);
}

TEST(CharacterDecoder, ReadsManyTextsSideBySide) {
  const auto chain = generators().make("chain"), tree = generators().make("bpt", {{"k", 2}});
  CharacterModelOptions recurrent{.vocabulary = 11,
                                  .recurrent = nn::RecurrentStackOptions{.dim = 16, .layers = 2},
                                  .input = {.max_length = 16, .positions = nn::Positions::sinusoidal}};
  for (const bool is_tree : {true, false}) {
    const GraphGenerator& generator = is_tree ? *tree : *chain;
    const CharacterModel model(is_tree ? small(generator, 16, true) : recurrent);
    CharacterDecoder decoder(model, generator, 16), alone(model, generator, 16);
    EXPECT_EQ(decoder.size(), 1);
    decoder.restart(2);
    const std::vector<std::vector<std::int32_t>> prompts{{1, 2, 3}, {4, 5, is_tree ? 6 : 7}};
    decoder.read(prompts);
    decoder.reorder(std::vector<std::int32_t>{1, 1, 0});
    EXPECT_EQ(decoder.size(), 3);
    EXPECT_EQ(decoder.room(), 13);
    const Tensor scores = decoder.score(std::vector<std::int32_t>{8, 9, 10});
    EXPECT_EQ(scores.shape(), (Shape{3, 11}));
    const std::vector<std::vector<std::int32_t>> texts{
        {4, 5, prompts[1][2], 8}, {4, 5, prompts[1][2], 9}, {1, 2, 3, 10}};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      alone.restart();
      Tensor expected;
      for (const std::int32_t character : texts[i]) expected = alone.read(character);
      const auto row = static_cast<std::int64_t>(i);
      EXPECT_EQ(scores.rows(row, row + 1).to_vector<float>(), expected.to_vector<float>());
    }
    EXPECT_THROW(decoder.read(1), ShapeError) << "there are three texts";
    EXPECT_THROW(decoder.score(std::vector<std::int32_t>{1, 2}), ShapeError);
    EXPECT_THROW(decoder.read(prompts), ShapeError);
    if (is_tree) continue;
    EXPECT_THROW(decoder.read(std::vector<std::vector<std::int32_t>>{{1}, {2}, {3, 4}}), ShapeError);
  }
}

TEST(GenerateText, RefusesWrongOptionsBeforeItReadsTheCheckpoint) {
  EXPECT_THROW(generate_text("nowhere.safetensors", {.count = -1}), ConfigError);
  EXPECT_THROW(generate_text("nowhere.safetensors", {.temperature = -1}), ConfigError);
  EXPECT_THROW(generate_text("nowhere.safetensors", {.top_k = -1}), ConfigError);
  EXPECT_THROW(generate_text("nowhere.safetensors", {.top_p = 1.5}), ConfigError);
  EXPECT_THROW(generate_texts("nowhere.safetensors", {}, 0), ConfigError);
  EXPECT_THROW(generate_text("nowhere.safetensors", {.count = 0}), IoError);
}

}  // namespace
}  // namespace bough
