// Models and the graphs they run on: options that follow from the graph, and errors where the two do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/batch.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/graph_transformer_decoder.h"
#include "tests/support/errors.h"

namespace bough::nn {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t dim = 8;
const GraphTransformerOptions two_layers{.layers = 2, .layer = {.dim = dim, .heads = 2, .feed_forward = 16}};

template <typename F>
std::string config_error(F&& f) {
  return test::error_message<ConfigError>(std::forward<F>(f));
}

AttentionGraph built(const json& pattern, std::int64_t length = 12) {
  return generators().make(pattern)->build({.length = length});
}

const json bpt = {{"kind", "bpt"}, {"k", 2}};
const json star = {{"kind", "star"}};
const json split = {{"kind", "sparse_strided"}, {"stride", 4}, {"split_heads", true}};
const json span = {{"kind", "adaptive_span"}, {"max_span", 6}, {"ramp", 2}};

TEST(OptionsForGraph, MakeAModelThatRunsOnEveryPattern) {
  for (const json& pattern : {bpt, star, split, span, json{{"kind", "hierarchical"}, {"size", 4}}}) {
    SCOPED_TRACE(pattern.dump());
    const auto generator = generators().make(pattern);
    const AttentionGraph graph = generator->build({.length = 12});
    const LayerSchedule schedule = make_layer_schedule(graph, {.layers = 2});
    for (const GraphTransformerOptions& options : {GraphTransformerOptions::for_graph(graph, two_layers),
                                                   GraphTransformerOptions::for_graph(*generator, 40, two_layers)}) {
      const GraphTransformer model(options);
      EXPECT_EQ(model.forward(schedule, zeros({12, dim})).shape(), (Shape{12, dim}));
    }
    EXPECT_EQ(GraphTransformerOptions::for_graph(*generator, 40, two_layers).layer.num_relations,
              generator->num_relations(40));
  }
}

TEST(OptionsForGraph, KeepWhatTheGraphDoesNotDecide) {
  GraphTransformerOptions given = two_layers;
  given.layer.num_relations = 1000;
  given.layer.pre_norm = true;
  const GraphTransformerOptions options = GraphTransformerOptions::for_graph(built(star), given);
  EXPECT_EQ(options.layers, 2);
  EXPECT_EQ(options.stages, 2);
  EXPECT_EQ(options.layer.num_relations, 1000) << "longer sequences have more";
  EXPECT_TRUE(options.layer.pre_norm);
  given.layer.num_relations = 0;
  given.layer.ignore_relations = true;
  EXPECT_EQ(GraphTransformerOptions::for_graph(built(star), given).layer.num_relations, 0);
}

TEST(OptionsForGraph, RefuseWhatDoesNotFitTheGraph) {
  const auto error = [](const json& pattern, auto change) {
    GraphTransformerOptions options = two_layers;
    change(options);
    return config_error([&] { GraphTransformerOptions::for_graph(built(pattern), options); });
  };
  EXPECT_THAT(error(bpt, [](auto& options) { options.layer.num_relations = 3; }), HasSubstr("num_relations is 3"));
  EXPECT_THAT(error(star, [](auto& options) { options.stages = 3; }), HasSubstr("stages is 3, the graph has 2"));
  EXPECT_THAT(error(bpt, [](auto& options) { options.stages = 2; }), HasSubstr("the graph has 1"));
  EXPECT_THAT(error(span, [](auto& options) { options.layer.soft_span = SoftSpan{.max_span = 7}; }),
              HasSubstr("soft_span is not that of the graph"));
  EXPECT_THAT(error(bpt, [](auto& options) { options.layer.soft_span = SoftSpan{.max_span = 7}; }),
              HasSubstr("the graph has none"));
  EXPECT_THAT(error(split, [](auto& options) { options.layer.heads = 1; }), HasSubstr("heads is 1"));
  const auto generator = generators().make(bpt);
  GraphTransformerOptions few = two_layers;
  few.layer.num_relations = generator->num_relations(12);
  EXPECT_NO_THROW(GraphTransformerOptions::for_graph(*generator, 12, few));
  EXPECT_THROW(GraphTransformerOptions::for_graph(*generator, 400, few), ConfigError);
}

TEST(GraphTransformer, HasAHiddenLayerOfFourTimesItsWidthUnlessToldOtherwise) {
  const GraphTransformer model({.layers = 2, .layer = {.dim = 6}});
  EXPECT_EQ(model.layer(1).feed_forward.inner.weight.shape(), Shape({24, 6}));
  EXPECT_THROW(model.layer(2), IndexError);
  EXPECT_THROW(model.layer(0, 1), IndexError);
}

TEST(OptionsForGraphs, GiveTheDecoderTheRelationsOfBoth) {
  const AttentionGraph graph = built(bpt);
  const Graph cross = Graph::bipartite({0, 1}, {0, 1}, {.num_src = 2, .num_dst = 12, .edge_types = IdArray{0, 2}});
  const auto options = GraphTransformerDecoderOptions::for_graphs(graph, cross, {.layer = two_layers.layer});
  EXPECT_EQ(options.layer.num_relations, graph.num_relations());
  EXPECT_EQ(options.num_cross_relations, 3);
  EXPECT_THAT(config_error([&] { GraphTransformerDecoderOptions::for_graphs(built(star), cross, options); }),
              HasSubstr("without stages"));
  GraphTransformerDecoderOptions few = options;
  few.num_cross_relations = 1;
  EXPECT_THAT(config_error([&] { GraphTransformerDecoderOptions::for_graphs(graph, cross, few); }),
              HasSubstr("num_cross_relations is 1, the cross graph has 3"));
}

TEST(CrossAttention, OfASingleRelationHasNoTableAndOfMoreRelationsNeedsOne) {
  const auto names = [](std::int64_t relations) {
    std::vector<std::string> result;
    for (const auto& [name, parameter] : GraphTransformerDecoderLayer(two_layers.layer, relations).named_parameters()) {
      result.push_back(name);
    }
    return result;
  };
  EXPECT_THAT(names(1), testing::Not(testing::Contains("cross_attention.relation_keys")));
  EXPECT_THAT(names(2), testing::Contains("cross_attention.relation_keys"));
  const AttentionGraph cross = built({{"kind", "cross"}});
  const Graph two =
      Graph::bipartite(cross.graph.coo().src, cross.graph.coo().dst,
                       {.num_src = 12, .num_dst = 12, .edge_types = cross.graph.edge_types(), .num_edge_types = 2});
  const Graph own = Graph::from_edges({0}, {1}, {.num_nodes = 12});
  const GraphTransformerDecoderLayer layer(two_layers.layer, 1);
  EXPECT_NO_THROW(layer.forward(own, cross.graph, zeros({12, dim}), zeros({12, dim})));
  EXPECT_THAT(config_error([&] {
                layer.forward(own, two, zeros({12, dim}), zeros({12, dim}));
              }),
              HasSubstr("2 relations"));
}

TEST(Relations, WithoutATableAreAnErrorUnlessTheyAreToBeIgnored) {
  const AttentionGraph graph = built(bpt);
  const Tensor h = zeros({graph.graph.num_nodes(), dim}), tokens = zeros({12, dim});
  const GraphTransformer forgotten(two_layers);
  const auto says = AllOf(HasSubstr("relations and the model no table"), HasSubstr("(for_graph)"));
  EXPECT_THAT(config_error([&] { forgotten.forward(graph.graph, h); }), says);
  EXPECT_THAT(config_error([&] { forgotten.forward(make_layer_schedule(graph, {.layers = 2}), tokens); }), says);
  EXPECT_THAT(config_error([&] { GraphSelfAttention({.dim = dim}).forward(graph.graph, h); }), says);
  GraphTransformerOptions options = two_layers;
  options.layer.ignore_relations = true;
  EXPECT_NO_THROW(GraphTransformer(options).forward(graph.graph, h));
  EXPECT_NO_THROW(forgotten.forward(Graph::from_edges({0, 1}, {1, 1}, {.num_nodes = 2}), zeros({2, dim})));
}

TEST(PlainGraph, IsRefusedWhereItsEdgesAreNotThePattern) {
  for (const auto& [pattern, says] : {std::pair{star, "stages of a layer"}, std::pair{split, "groups of heads"},
                                      std::pair{span, "how far they reach"}}) {
    SCOPED_TRACE(says);
    const std::vector<AttentionGraph> two{built(pattern), built(pattern)};
    for (const AttentionGraph& graph : {two[0], batch(two)}) {
      const GraphTransformer model(
          {.layers = 2, .layer = {.dim = dim, .heads = 2, .feed_forward = 16, .num_relations = graph.num_relations()}});
      const GraphSelfAttention attention({.dim = dim, .heads = 2, .num_relations = graph.num_relations()});
      const Tensor h = zeros({graph.graph.num_nodes(), dim});
      const auto explained = AllOf(HasSubstr(says), HasSubstr("make_layer_schedule"));
      EXPECT_THAT(config_error([&] { model.forward(graph.graph, h); }), explained);
      EXPECT_THAT(config_error([&] { model.layer(0).forward(graph.graph, h); }), explained);
      EXPECT_THAT(config_error([&] { attention.forward(graph.graph, h); }), explained);
      EXPECT_THAT(config_error([&] { attention.forward(graph.graph, h, h); }), explained);
    }
  }
  const AttentionGraph tree = built(bpt);
  const GraphSelfAttention attention({.dim = dim, .heads = 2, .num_relations = tree.graph.num_edge_types()});
  EXPECT_NO_THROW(attention.forward(tree.graph, zeros({tree.graph.num_nodes(), dim})));
}

TEST(NodeRows, AndTokenRowsAreToldApartInErrors) {
  const AttentionGraph graph = built(bpt);
  const GraphTransformer model(GraphTransformerOptions::for_graph(graph, two_layers));
  const auto shape_error = [](auto&& f) { return test::error_message<ShapeError>(f); };
  const Tensor tokens = zeros({12, dim}), nodes = zeros({graph.graph.num_nodes(), dim});
  const auto wants_nodes = AllOf(HasSubstr("a row for each of the 24 nodes"), HasSubstr("rows of tokens"));
  EXPECT_THAT(shape_error([&] { model.forward(graph.graph, tokens); }), wants_nodes);
  EXPECT_THAT(shape_error([&] { model.layer(0).attention.forward(graph.graph, tokens); }), wants_nodes);
  EXPECT_THAT(shape_error([&] { model.forward(make_layer_schedule(graph, {.layers = 2}), nodes); }),
              AllOf(HasSubstr("[12, 8], one row for each token"), HasSubstr("[24, 8]")));
  const AttentionGraph memory = built({{"kind", "memory"}, {"length", 3}});
  EXPECT_THAT(shape_error([&] { model.forward(memory.graph, tokens); }), HasSubstr("15 sources and 12 destinations"));
}

TEST(GraphTransformer, PassesOnWhereSpansStartAndTheEpsilonOfItsNorms) {
  const AttentionGraph graph = built(span);
  GraphTransformerOptions options = GraphTransformerOptions::for_graph(graph, two_layers);
  options.layer.initial_span = 0.5;
  options.layer.pre_norm = true;
  options.layer.norm_epsilon = 3;
  const GraphTransformer model(options);
  for (const double reach : model.layer(1).attention.spans()) EXPECT_NEAR(reach, 3, 1e-5);
  // 1 and -1 have the variance 1: they become 1 / sqrt(1 + 3).
  const Tensor x = Tensor::from_vector(std::vector<float>{1, -1, 1, -1, 1, -1, 1, -1}, {1, dim});
  for (const Tensor& normed :
       {model.layer(0).attention_norm.forward(x), model.layer(1).feed_forward_norm.forward(x), model.finish(x)}) {
    EXPECT_NEAR(normed.to_vector<float>()[0], 0.5, 1e-6);
  }
}

TEST(GraphTransformer, HasPublicFeedForwardWeightsUnderTheNamesThatParametersHave) {
  GraphTransformer model(two_layers);
  const Module::NamedTensors parameters = model.named_parameters();
  const auto named = [&](const std::string& name) {
    for (const auto& [known, parameter] : parameters) {
      if (known == name) return parameter;
    }
    return Tensor();
  };
  const FeedForward& part = model.layer(1).feed_forward;
  for (const auto& [name, weight] :
       {std::pair{"layer1.feed_forward.inner.weight", part.inner.weight},
        std::pair{"layer1.feed_forward.outer.bias", part.outer.bias},
        std::pair{"layer1.attention.output.weight", model.layer(1).attention.output.weight}}) {
    ASSERT_TRUE(named(name).defined()) << name;
    EXPECT_EQ(named(name).data<float>(), weight.data<float>()) << name;
  }
}

TEST(ReadOut, IsTheTokensUnlessTheScheduleIsMadeForTheRoots) {
  const AttentionGraph two = build_batch(*generators().make(bpt), std::vector<std::int64_t>{5, 8}, false);
  const GraphTransformer model(GraphTransformerOptions::for_graph(two, two_layers));
  const Tensor tokens = ones({13, dim});
  EXPECT_EQ(model.forward(make_layer_schedule(two, {.layers = 2}), tokens).size(0), 13);
  EXPECT_EQ(two.readout, (std::vector<std::int32_t>{two.sequences[0].root, two.sequences[1].root}));
  EXPECT_EQ(model.forward(make_layer_schedule(two, {.layers = 2, .readout = two.readout}), tokens).size(0), 2);
}

TEST(SegmentMemory, OfAFirstSegmentIsEmptyUnlessToldHowMuchTheNextReads) {
  const auto generator = generators().make("memory", {{"length", 3}});
  const AttentionGraph first = generator->build({.length = 4, .causal = true, .past = 0});
  EXPECT_EQ(make_layer_schedule(first, {.layers = 1}).remembered_rows.size(0), 0);
  EXPECT_EQ(make_layer_schedule(first, {.layers = 1, .memory = 3}).remembered_rows.size(0), 3);
}

}  // namespace
}  // namespace bough::nn
