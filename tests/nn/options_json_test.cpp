#include "bough/nn/options_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"

namespace bough::nn {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// The message of the error that reading gives.
template <typename Options = GraphTransformerOptions>
std::string refusal(const json& values) {
  return test::error_message<ConfigError>([&] { options_from_json<Options>("model", values); });
}

TEST(OptionsJson, ReadsAModelAsExperimentsWriteIt) {
  const auto options = options_from_json<GraphTransformerOptions>(
      "model",
      {{"layers", 4}, {"dim", 128}, {"heads", 8}, {"ffn", 300}, {"dropout", 0.1}, {"norm", "pre"}, {"scale", "dim"}});
  EXPECT_EQ(options.layers, 4);
  EXPECT_EQ(options.layer.dim, 128);
  EXPECT_EQ(options.layer.heads, 8);
  EXPECT_EQ(options.layer.feed_forward, 300);
  EXPECT_EQ(options.layer.dropout, 0.1);
  EXPECT_TRUE(options.layer.pre_norm);
  EXPECT_EQ(options.layer.scale, GraphSelfAttentionOptions::Scale::dim);
}

TEST(OptionsJson, WithNothingButAWidthGivesTheDefaultsOfTheStructs) {
  const auto options = options_from_json<GraphTransformerOptions>("model", {{"dim", 16}});
  GraphTransformerOptions plain{.layer = {.dim = 16, .feed_forward = 64}};
  EXPECT_EQ(to_json(options), to_json(plain));
  EXPECT_EQ(to_json(options_from_json<GraphSelfAttentionOptions>("attention", {{"dim", 16}})),
            to_json(GraphSelfAttentionOptions{.dim = 16}));
  EXPECT_EQ(to_json(options_from_json<GatLayerOptions>("gat", {{"in", 3}, {"out", 4}})),
            to_json(GatLayerOptions{.in = 3, .out = 4}));
}

TEST(OptionsJson, KeepsTheDefaultsOfTheCaller) {
  const GraphTransformerOptions defaults{.layers = 6, .layer = {.dim = 512, .heads = 8, .pre_norm = true}};
  const auto options = options_from_json("model", {{"heads", 4}}, defaults);
  EXPECT_EQ(options.layers, 6);
  EXPECT_EQ(options.layer.dim, 512);
  EXPECT_EQ(options.layer.heads, 4);
  EXPECT_EQ(options.layer.feed_forward, 2048);
  EXPECT_TRUE(options.layer.pre_norm);
}

TEST(OptionsJson, LeavesAloneWhatAProgramDecidesItself) {
  GraphTransformerOptions options{.layer = {.dim = 16, .num_relations = 7}, .stages = 2};
  std::vector<Parameter> parameters = parameters_of(options);
  std::erase_if(parameters, [](const Parameter& p) { return p.name == "num_relations" || p.name == "stages"; });
  parameters.push_back(boolean_parameter("tied", "a parameter of the program's own", true));
  const ParameterTable table(parameters);
  read_options(table.read("model", {{"heads", 4}, {"tied", false}}), options);
  EXPECT_EQ(options.layer.heads, 4);
  EXPECT_EQ(options.layer.num_relations, 7);
  EXPECT_EQ(options.stages, 2);
  EXPECT_THROW(table.read("model", {{"stages", 3}}), ConfigError);
}

TEST(OptionsJson, ComesBackFromWhatItWrites) {
  // No field has its default, so a field that is forgotten somewhere shows.
  const GraphTransformerOptions transformer{.layers = 3,
                                            .layer = {.dim = 24,
                                                      .heads = 3,
                                                      .feed_forward = 7,
                                                      .num_relations = 5,
                                                      .ignore_relations = true,
                                                      .pre_norm = true,
                                                      .norm_epsilon = 0.0625,
                                                      .activation = Activation::gelu,
                                                      .attention_bias = true,
                                                      .feed_forward_bias = false,
                                                      .dropout = 0.25,
                                                      .attention_dropout = 0.5,
                                                      .scale = GraphSelfAttentionOptions::Scale::dim,
                                                      .relation_deviation = 0.75,
                                                      .output_gain = 0.125,
                                                      .soft_span = SoftSpan{.max_span = 9, .ramp = 4},
                                                      .initial_span = 0.375},
                                            .stages = 2,
                                            .trained_start = true,
                                            .activations = ActivationPolicy::recompute_cheap};
  const json expected = {{"layers", 3},
                         {"dim", 24},
                         {"heads", 3},
                         {"ffn", 7},
                         {"num_relations", 5},
                         {"ignore_relations", true},
                         {"norm", "pre"},
                         {"norm_epsilon", 0.0625},
                         {"activation", "gelu"},
                         {"attention_bias", true},
                         {"bias", false},
                         {"dropout", 0.25},
                         {"attention_dropout", 0.5},
                         {"scale", "dim"},
                         {"relation_deviation", 0.75},
                         {"output_gain", 0.125},
                         {"soft_span", {{"max_span", 9}, {"ramp", 4}}},
                         {"initial_span", 0.375},
                         {"stages", 2},
                         {"trained_start", true},
                         {"activations", "recompute_cheap"}};
  EXPECT_EQ(to_json(transformer), expected);
  const auto back = options_from_json<GraphTransformerOptions>("model", expected);
  EXPECT_EQ(to_json(back), expected);
  EXPECT_EQ(back.layer.soft_span, transformer.layer.soft_span);

  const auto expect_return = [](const auto& options) {
    EXPECT_EQ(to_json(options_from_json<std::remove_cvref_t<decltype(options)>>("it", to_json(options))),
              to_json(options));
  };
  expect_return(transformer.layer);
  expect_return(GraphTransformerDecoderOptions{.layers = 2,
                                               .layer = transformer.layer,
                                               .num_cross_relations = 3,
                                               .activations = ActivationPolicy::checkpoint_layers});
  expect_return(GraphSelfAttentionOptions{.dim = 8,
                                          .heads = 4,
                                          .num_relations = 2,
                                          .ignore_relations = true,
                                          .scale = GraphSelfAttentionOptions::Scale::dim,
                                          .bias = true,
                                          .dropout = 0.5,
                                          .relation_deviation = 2,
                                          .output_gain = 3,
                                          .soft_span = SoftSpan{.max_span = 3, .ramp = 2},
                                          .initial_span = 0.5});
  expect_return(LinearOptions{.in = 3, .out = 5, .bias = false, .activation = Activation::gelu, .gain = 0.5});
  expect_return(EmbeddingOptions{.count = 3, .dim = 5, .standard_deviation = 0.5, .sparse_gradient = true});
  expect_return(LayerNormOptions{.dim = 3, .epsilon = 0.5});
  expect_return(FeedForwardOptions{
      .dim = 3, .hidden = 5, .activation = Activation::gelu, .bias = false, .dropout = 0.5, .output_gain = 0.25});
  expect_return(LearnedPositionsOptions{.max_length = 3, .dim = 5, .standard_deviation = 0.5});
  expect_return(InputLayerOptions{.dim = 3,
                                  .max_length = 5,
                                  .positions = Positions::both,
                                  .block_positions = 2,
                                  .dropout = 0.25,
                                  .norm = true,
                                  .norm_epsilon = 0.5});
  expect_return(GatLayerOptions{
      .in = 3, .out = 5, .heads = 2, .concatenate = false, .bias = false, .slope = 0.5, .dropout = 0.25});
  expect_return(RecurrentStackOptions{.in = 3,
                                      .dim = 5,
                                      .layers = 2,
                                      .cell = RecurrentCellKind::rhn,
                                      .bidirectional = true,
                                      .depth = 4,
                                      .positions = 6,
                                      .dropout = 0.25});
}

TEST(OptionsJson, NamesTheNearestKey) {
  EXPECT_THAT(refusal({{"dim", 8}, {"headz", 2}}), AllOf(HasSubstr("[model]"), HasSubstr("did you mean \"heads\"?")));
  EXPECT_THAT(refusal({{"dim", 8}, {"soft_span", {{"max_spam", 2}}}}), HasSubstr("soft_span.max_span"));
  EXPECT_THAT(refusal<GatLayerOptions>({{"in", 8}, {"out", 2}, {"concat", true}}), HasSubstr("known keys are"));
}

TEST(OptionsJson, NamesWhatIsMissingOrOutOfRange) {
  EXPECT_THAT(refusal({{"layers", 2}}), HasSubstr("dim is missing"));
  EXPECT_THAT(refusal({{"dim", 0}}), HasSubstr("dim must be a whole number from 1"));
  EXPECT_THAT(refusal({{"dim", 8}, {"dropout", 1}}), HasSubstr("dropout must be a number from 0"));
  EXPECT_THAT(refusal({{"dim", 8}, {"norm", "pree"}}), HasSubstr("did you mean \"pre\"?"));
  EXPECT_THAT(refusal({{"dim", 8}, {"checkpoint_layers", 1}}), HasSubstr("true or false"));
  EXPECT_THAT(refusal({{"dim", 10}, {"heads", 3}}), HasSubstr("multiple of heads, 10 is not one of 3"));
  EXPECT_THAT(refusal({{"dim", 8}, {"layers", 1000000}}), HasSubstr("layers must be"));
}

TEST(OptionsJson, MakesModulesThatRun) {
  const GraphTransformer model(
      options_from_json<GraphTransformerOptions>("model", {{"dim", 8}, {"heads", 2}, {"layers", 2}}));
  EXPECT_EQ(model.num_layers(), 2);
  const GatLayer gat(options_from_json<GatLayerOptions>("gat", {{"in", 3}, {"out", 4}, {"heads", 2}}));
  EXPECT_EQ(gat.projection.weight.shape(), (Shape{8, 3}));
  const Linear linear(options_from_json<LinearOptions>("linear", {{"in", 3}, {"out", 4}, {"bias", false}}));
  EXPECT_EQ(linear.weight.shape(), (Shape{4, 3}));
  EXPECT_FALSE(linear.bias.defined());
  EXPECT_THAT(refusal<EmbeddingOptions>({{"dim", 8}}), HasSubstr("count is missing"));
}

TEST(OptionsJson, OlderKeysOfTheActivationPolicyAreStillRead) {
  const auto policy = [](json keys) {
    keys["dim"] = 8;
    return options_from_json<GraphTransformerOptions>("model", keys).activations;
  };
  EXPECT_EQ(policy({}), ActivationPolicy::automatic);
  EXPECT_EQ(policy({{"checkpoint_layers", false}, {"kept", "automatic"}}), ActivationPolicy::automatic);
  EXPECT_EQ(policy({{"kept", "all"}}), ActivationPolicy::save_all);
  EXPECT_EQ(policy({{"kept", "few"}}), ActivationPolicy::recompute_cheap);
  EXPECT_EQ(policy({{"checkpoint_layers", true}, {"kept", "few"}}), ActivationPolicy::checkpoint_layers);
  EXPECT_EQ(policy({{"activations", "save_all"}, {"checkpoint_layers", false}}), ActivationPolicy::save_all);
  EXPECT_EQ(
      options_from_json<GraphTransformerDecoderOptions>("model", {{"dim", 8}, {"checkpoint_layers", true}}).activations,
      ActivationPolicy::checkpoint_layers);
}

}  // namespace
}  // namespace bough::nn
