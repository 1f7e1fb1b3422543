#include "bough/nn/incremental_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/arrange.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/random_tensor.h"

namespace bough::nn {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t length = 21, dim = 16;

GraphTransformerOptions small(const AttentionGraph& graph) {
  GraphTransformerOptions options =
      GraphTransformerOptions::for_graph(graph, {.layers = 3, .layer = {.dim = dim, .heads = 2, .feed_forward = 24}});
  options.trained_start = true;
  return options;
}

AttentionGraph causal(const json& pattern) {
  return generators().make(pattern)->build({.length = length, .causal = true});
}

TEST(IncrementalDecoder, GivesTheRowsOfTheWholeSequenceFollowingEachEdgeOnce) {
  for (const json& pattern : {json{{"kind", "bpt"}, {"k", 2}}, json{{"kind", "hierarchical"}, {"size", 4}},
                              json{{"kind", "sparse_strided"}, {"stride", 4}, {"split_heads", true}},
                              json{{"kind", "adaptive_span"}, {"max_span", 6}, {"ramp", 2}}}) {
    SCOPED_TRACE(pattern.dump());
    const AttentionGraph graph = causal(pattern);
    manual_seed(4);
    GraphTransformer model(small(graph));
    const Tensor tokens = test::random_tensor({length, dim}, DType::float32, 1);
    const NoGrad no_grad;
    model.start.fill(0.5);
    const Tensor whole = model.forward(make_layer_schedule(graph, {.layers = 3}), tokens);
    IncrementalDecoder decoder(model, graph);
    std::vector<Tensor> rows;
    std::int64_t edges = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      EXPECT_EQ(decoder.position(), i);
      rows.push_back(decoder.read(tokens.rows(i, i + 1)));
      edges += decoder.edges_followed();
    }
    test::expect_close(concatenate(rows, 0), whole);
    std::int64_t expected = graph.head_groups.empty() ? graph.graph.num_edges() : 0;
    for (const Graph& group : graph.head_groups) expected += group.num_edges();
    EXPECT_EQ(edges, expected);
  }
}

TEST(IncrementalDecoder, SaysWhatItCannotRead) {
  const AttentionGraph graph = causal("bpt");
  const GraphTransformer model(small(graph));
  IncrementalDecoder decoder(model, graph);
  EXPECT_THAT(test::error_message<ShapeError>([&] { decoder.read(zeros({2, dim})); }), HasSubstr("[1, 16]"));
  for (std::int64_t i = 0; i < length; ++i) decoder.read(zeros({1, dim}));
  EXPECT_THAT(test::error_message<IndexError>([&] { decoder.read(zeros({1, dim})); }), HasSubstr("all 21 tokens"));
  decoder.restart();
  EXPECT_EQ(decoder.position(), 0);
  EXPECT_NO_THROW(decoder.read(zeros({1, dim})));
}

TEST(IncrementalDecoder, RefusesGraphsThatItCannotFollow) {
  const auto error = [](const AttentionGraph& graph, const AttentionGraph& model_graph) {
    return test::error_message<ConfigError>([&] {
      const GraphTransformer model(small(model_graph));
      const IncrementalDecoder decoder(model, graph);
    });
  };
  const AttentionGraph tree = causal("bpt");
  EXPECT_THAT(error(generators().make("bpt")->build({.length = length}), tree), HasSubstr("must be causal"));
  EXPECT_THAT(error(causal("memory"), tree), HasSubstr("from outside"));
  AttentionGraph spanned = causal("adaptive_span");
  EXPECT_THAT(error(spanned, tree), HasSubstr("soft span"));
  const AttentionGraph longer = generators().make("bpt")->build({.length = 4 * length, .causal = true});
  EXPECT_THAT(error(longer, tree), HasSubstr("for_graph(generator, max_length"));
  AttentionGraph staged = tree;
  staged.stages = {tree.graph};
  EXPECT_THAT(error(staged, tree), HasSubstr("stages"));
  const GraphTransformer model(small(tree));
  AttentionGraph uncovered = tree;
  uncovered.covers.clear();
  EXPECT_THAT(test::graph_error([&] { const IncrementalDecoder decoder(model, uncovered); }),
              HasSubstr("covers has 0 entries"));
}

}  // namespace
}  // namespace bough::nn
