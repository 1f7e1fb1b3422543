#include "bough/nn/recurrent_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/graph_generator.h"
#include "bough/ops/arrange.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/random_tensor.h"

namespace bough::nn {
namespace {

using nlohmann::json;
using test::random_tensor;
using testing::HasSubstr;
using Cell = RecurrentCellKind;

AttentionGraph causal_graph(const json& pattern, std::int64_t length = 12) {
  return generators().make(pattern)->build({.length = length, .causal = true});
}

const json two_chains = {{"kind", "union"}, {"of", {{{"kind", "chain"}}, {{"kind", "chain"}, {"skip", 3}}}}};

void expect_same_as_whole(const RecurrentStackOptions& options, const AttentionGraph& graph) {
  RecurrentStack model(options);
  model.eval();
  const std::int64_t length = graph.num_tokens();
  const Tensor x = random_tensor({length, options.in}), whole = model.forward(graph.graph, x);
  RecurrentDecoder decoder(model, graph);
  ASSERT_EQ(decoder.length(), length);
  for (int round = 0; round < 2; ++round, decoder.restart()) {
    std::vector<Tensor> rows;
    std::int64_t edges = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      EXPECT_EQ(decoder.position(), i);
      rows.push_back(decoder.read(x.rows(i, i + 1)));
      edges += decoder.edges_followed();
    }
    EXPECT_EQ(edges, graph.graph.num_edges());
    test::expect_close(concatenate(rows, 0), whole);
    EXPECT_THROW(decoder.read(x.rows(0, 1)), IndexError);
  }
}

TEST(RecurrentDecoder, GivesTheRowsOfTheWholeSequence) {
  for (const json& pattern : {json("chain"), json{{"kind", "chain"}, {"skip", 3}}}) {
    const AttentionGraph graph = causal_graph(pattern);
    expect_same_as_whole({.in = 3, .dim = 4, .layers = 2}, graph);
    expect_same_as_whole({.in = 3, .dim = 4, .layers = 2, .positions = 1}, graph);
    expect_same_as_whole({.in = 3, .dim = 4, .layers = 2, .cell = Cell::mlstm}, graph);
    expect_same_as_whole({.in = 3, .dim = 4, .layers = 2, .cell = Cell::rhn, .depth = 3}, graph);
    expect_same_as_whole({.in = 3, .dim = 4, .layers = 3, .cell = Cell::qrnn}, graph);
  }
}

TEST(RecurrentDecoder, ReadsSeveralPredecessorsSummedOrByPosition) {
  expect_same_as_whole({.in = 3, .dim = 4, .layers = 2}, causal_graph(two_chains));
  expect_same_as_whole({.in = 3, .dim = 4, .layers = 2, .positions = 2}, causal_graph(two_chains));
}

TEST(RecurrentDecoder, RunsHypothesesSideBySideThatGoOnFromEachOther) {
  struct Case {
    RecurrentStackOptions options;
    json pattern;
  };
  for (const Case& one :
       {Case{{.in = 3, .dim = 4, .layers = 2}, "chain"}, Case{{.in = 3, .dim = 4, .layers = 2}, two_chains},
        Case{{.in = 3, .dim = 4, .layers = 2, .positions = 2}, two_chains},
        Case{{.in = 3, .dim = 4, .layers = 2, .cell = Cell::mlstm}, "chain"},
        Case{{.in = 3, .dim = 4, .layers = 2, .cell = Cell::rhn, .depth = 2}, "chain"},
        Case{{.in = 3, .dim = 4, .layers = 2, .cell = Cell::qrnn}, "chain"}}) {
    const AttentionGraph graph = causal_graph(one.pattern);
    const RecurrentStack model(one.options);
    RecurrentDecoder together(model, graph);
    together.restart(3);
    std::vector<std::vector<Tensor>> read(3);
    for (std::int64_t i = 0; i < 12; ++i) {
      if (i == 5 || i == 8) {
        const std::vector<std::int32_t> parents =
            i == 5 ? std::vector<std::int32_t>{2, 0, 2, 1} : std::vector<std::int32_t>{3, 0};
        together.reorder(parents);
        std::vector<std::vector<Tensor>> next;
        for (const std::int32_t parent : parents) next.push_back(read[static_cast<std::size_t>(parent)]);
        read = std::move(next);
      }
      ASSERT_EQ(together.size(), std::ssize(read));
      const Tensor x = random_tensor({together.size(), 3}, DType::float32, static_cast<std::uint64_t>(i));
      const Tensor rows = together.read(x);
      for (std::size_t h = 0; h < read.size(); ++h) {
        const auto row = static_cast<std::int64_t>(h);
        read[h].push_back(x.rows(row, row + 1));
        RecurrentDecoder alone(model, graph);
        Tensor last;
        for (const Tensor& token : read[h]) last = alone.read(token);
        test::expect_same_bits(rows.rows(row, row + 1), last);
      }
    }
    EXPECT_THROW(together.reorder(std::vector<std::int32_t>{0, 2}), IndexError);
    EXPECT_THROW(together.restart(-1), ConfigError);
  }
}

TEST(RecurrentDecoder, DropsNothingInTraining) {
  const RecurrentStack model({.in = 3, .dim = 4, .layers = 2, .dropout = 0.5});
  RecurrentDecoder decoder(model, causal_graph("chain"));
  const Tensor x = random_tensor({1, 3});
  const Tensor first = decoder.read(x);
  decoder.restart();
  test::expect_same_bits(decoder.read(x), first);
}

TEST(RecurrentDecoder, SaysWhatItCannotRead) {
  const RecurrentStack model({.in = 3, .dim = 4}), both({.in = 3, .dim = 4, .bidirectional = true});
  const auto refusal = [](const RecurrentStack& stack, AttentionGraph graph) {
    return test::error_message<ConfigError>([&] { const RecurrentDecoder decoder(stack, std::move(graph)); });
  };
  EXPECT_THAT(refusal(both, causal_graph("chain")), HasSubstr("bidirectional"));
  EXPECT_THAT(refusal(model, generators().make("chain")->build({.length = 4})), HasSubstr("causal"));
  RecurrentDecoder decoder(model, causal_graph("chain"));
  EXPECT_THROW(decoder.read(random_tensor({1, 4})), ShapeError);
  EXPECT_THROW(decoder.read(random_tensor({2, 3})), ShapeError);
}

TEST(RecurrentGraph, IsOneOfTokensWithoutCycles) {
  const auto refusal = [](const json& pattern, Cell cell = Cell::lstm) {
    return test::error_message<ConfigError>(
        [&] { check_recurrent_graph(causal_graph(pattern), {.in = 3, .dim = 4, .cell = cell}); });
  };
  EXPECT_NO_THROW(check_recurrent_graph(causal_graph("chain"), {.cell = Cell::qrnn}));
  EXPECT_NO_THROW(check_recurrent_graph(causal_graph(two_chains), {}));
  EXPECT_THAT(refusal("bpt"), HasSubstr("the graph has 24 nodes for 12 tokens; use {\"kind\": \"chain\"}"));
  EXPECT_THAT(refusal("window"), HasSubstr("a cycle, as where a token attends to itself"));
  EXPECT_THAT(refusal({{"kind", "memory"}, {"length", 4}}), HasSubstr("from outside"));
  EXPECT_THAT(refusal({{"kind", "sparse_strided"}, {"split_heads", true}}), HasSubstr("for attention"));
  EXPECT_THAT(refusal("adaptive_span"), HasSubstr("for attention"));
  EXPECT_THAT(refusal(two_chains, Cell::mlstm), HasSubstr("node 3 has 2 predecessors and mlstm takes one"));
}

}  // namespace
}  // namespace bough::nn
