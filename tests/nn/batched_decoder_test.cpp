#include "bough/nn/batched_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "bough/ops/arrange.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough::nn {
namespace {

using nlohmann::json;
using test::expect_close;
using test::expect_same_bits;
using test::random_tensor;
using testing::HasSubstr;

constexpr std::int64_t dim = 16;

AttentionGraph causal(const json& pattern, std::int64_t length) {
  return generators().make(pattern)->build({.length = length, .causal = true});
}

/// What can be decoded token by token.
std::vector<json> decodable_patterns() {
  return {
      {{"kind", "adaptive_span"}, {"max_span", 5}, {"ramp", 2}},
      {{"kind", "bigbird"}, {"width", 2}, {"global", 2}, {"random", 3}, {"seed", 7}},
      {{"kind", "blocks"}, {"size", 4}},
      {{"kind", "bpt"}, {"k", 2}},
      {{"kind", "bpt"}, {"k", 1}, {"alignment", "slot"}, {"clip_levels", 2}},
      {{"kind", "bpt"}, {"k", 4}},
      {{"kind", "causal"}, {"of", {{"kind", "expander"}, {"degree", 3}}}},
      {{"kind", "chain"}, {"skip", 3}},
      {{"kind", "dilated"}, {"width", 3}, {"dilation", 3}},
      {{"kind", "full"}, {"max_distance", 6}},
      {{"kind", "full"}, {"max_distance", 0}},
      {{"kind", "hierarchical"}, {"size", 4}},
      {{"kind", "hierarchical"}, {"size", 3}, {"feedback", true}},
      {{"kind", "kary"}, {"arity", 3}, {"k", 2}},
      {{"kind", "logsparse"}},
      {{"kind", "longformer"}, {"width", 3}, {"dilation", 2}, {"global", 3}},
      {{"kind", "remap"}, {"of", {{"kind", "bpt"}}}, {"names", {{"left", "before"}, {"right", "after"}}}},
      {{"kind", "sparse_fixed"}, {"stride", 5}, {"c", 2}},
      {{"kind", "sparse_strided"}, {"stride", 4}},
      {{"kind", "sparse_strided"}, {"stride", 4}, {"split_heads", true}},
      {{"kind", "union"}, {"of", {{{"kind", "bpt"}, {"k", 1}}, {{"kind", "window"}, {"width", 3}}}}},
      {{"kind", "window"}, {"width", 3}},
  };
}

/// A model in training mode with much dropout, which decoding leaves out.
struct LanguageModel {
  LanguageModel(const json& pattern, std::int64_t length, bool pre_norm) : graph(causal(pattern, length)) {
    GraphTransformerOptions options = GraphTransformerOptions::for_graph(graph, {.layers = 3,
                                                                                 .layer = {.dim = dim,
                                                                                           .heads = 2,
                                                                                           .feed_forward = 24,
                                                                                           .pre_norm = pre_norm,
                                                                                           .attention_bias = true,
                                                                                           .dropout = 0.5,
                                                                                           .attention_dropout = 0.5}});
    options.trained_start = true;
    manual_seed(4);
    model = std::make_unique<GraphTransformer>(options);
    const NoGrad no_grad;
    model->start.fill(0.5);
    model->layer(0).attention.query.bias.fill(0.3);
  }

  /// The model on a whole sequence.
  Tensor whole(const Tensor& tokens) {
    const NoGrad no_grad;
    model->eval();
    const Tensor rows = model->forward(make_layer_schedule(graph, {.layers = 3}), tokens);
    model->train();
    return rows;
  }

  AttentionGraph graph;
  std::unique_ptr<GraphTransformer> model;
};

class DecodedPattern : public testing::TestWithParam<json> {};
std::string name_of_pattern(const testing::TestParamInfo<json>& pattern) {
  return pattern.param["kind"].get<std::string>() + std::to_string(pattern.index);
}
INSTANTIATE_TEST_SUITE_P(Decodable, DecodedPattern, testing::ValuesIn(decodable_patterns()), name_of_pattern);

TEST_P(DecodedPattern, SequencesSideBySideGetTheRowsOfTheWholeSequence) {
  for (const bool pre_norm : {true, false}) {
    for (const std::int64_t length : {1, 2, 21, 33}) {
      SCOPED_TRACE(testing::Message() << "length " << length << " pre-norm " << pre_norm);
      LanguageModel made(GetParam(), length, pre_norm);
      BatchedDecoder decoder(*made.model, made.graph);
      std::vector<Tensor> tokens, whole;
      for (std::uint64_t i = 0; i < 3; ++i) {
        tokens.push_back(random_tensor({length, dim}, DType::float32, i));
        whole.push_back(made.whole(tokens.back()));
      }
      decoder.add(3);
      // Each reads at its own pace, one of them several tokens at a time.
      for (std::int64_t round = 0; decoder.position(0) < length; ++round) {
        std::vector<std::int64_t> counts;
        std::vector<Tensor> read, expected;
        for (std::int64_t i = 0; i < 3; ++i) {
          const std::int64_t at = decoder.position(i), wanted = i == 0 ? 1 : i == 1 ? round % 4 : 1 - round % 2;
          counts.push_back(std::min(wanted, length - at));
          read.push_back(tokens[static_cast<std::size_t>(i)].rows(at, at + counts.back()));
          expected.push_back(whole[static_cast<std::size_t>(i)].rows(at, at + counts.back()));
        }
        expect_close(decoder.read(concatenate(read, 0), counts), concatenate(expected, 0));
      }
    }
  }
}

TEST_P(DecodedPattern, RowsDoNotDependOnWhatElseIsInTheBatch) {
  constexpr std::int64_t length = 40;
  LanguageModel made(GetParam(), length, true);
  const Tensor tokens = random_tensor({length, dim});
  BatchedDecoder alone(*made.model, made.graph);
  alone.add();
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < length; ++i) rows.push_back(alone.read(tokens.rows(i, i + 1)));
  const Tensor expected = concatenate(rows, 0);

  alone.clear();
  alone.add();
  expect_same_bits(alone.read(tokens, std::array{length}), expected);

  BatchedDecoder crowded(*made.model, made.graph);
  crowded.add(20);
  std::vector<Tensor> among;
  for (std::int64_t i = 0; i < length; ++i) {
    Tensor inputs = random_tensor({20, dim}, DType::float32, static_cast<std::uint64_t>(i) + 7);
    inputs.rows(13, 14).assign(tokens.rows(i, i + 1));
    among.push_back(crowded.read(inputs).rows(13, 14));
  }
  expect_same_bits(concatenate(among, 0), expected);
}

TEST(BatchedDecoder, GivesTheSameBitsForAnyNumberOfThreads) {
  // Wide and many enough for products and attention to be shared out.
  const AttentionGraph graph = causal({{"kind", "bpt"}, {"k", 4}}, 300);
  manual_seed(1);
  const GraphTransformer model(
      GraphTransformerOptions::for_graph(graph, {.layers = 2, .layer = {.dim = 128, .heads = 4, .feed_forward = 600}}));
  const Tensor prompts = random_tensor({20 * 290, 128}), next = random_tensor({20, 128}, DType::float32, 2);
  test::expect_same_bits_for_threads([&] {
    BatchedDecoder decoder(model, graph);
    decoder.add(20);
    const Tensor read = decoder.read(prompts, std::vector<std::int64_t>(20, 290));
    return std::vector<Tensor>{read, decoder.read(next)};
  });
}

TEST(BatchedDecoder, CopiesGoOnFromWhatTheyShare) {
  constexpr std::int64_t length = 150;
  LanguageModel made({{"kind", "bpt"}, {"k", 2}}, length, true);
  BatchedDecoder decoder(*made.model, made.graph);
  decoder.add(3);
  // By hypothesis what it has read; each step copies, moves and ends some.
  std::vector<std::vector<Tensor>> read(3);
  const std::vector<std::vector<std::int32_t>> steps = {{0, 1, 2}, {2, 2, 0, 0}, {1, 3, 0}, {2, 1, 1, 1, 0}, {4, 0}};
  for (std::int64_t i = 0; i < length; ++i) {
    const std::vector<std::int32_t> parents =
        i % 10 == 9 ? std::vector<std::int32_t>{0, 1, 0}
                    : (i < 5 ? steps[static_cast<std::size_t>(i)] : std::vector<std::int32_t>{1, 0});
    std::vector<std::vector<Tensor>> next;
    for (const std::int32_t parent : parents) next.push_back(read[static_cast<std::size_t>(parent)]);
    read = std::move(next);
    decoder.reorder(parents);
    ASSERT_EQ(decoder.size(), std::ssize(parents));
    const Tensor inputs = random_tensor({decoder.size(), dim}, DType::float32, static_cast<std::uint64_t>(i));
    const Tensor rows = decoder.read(inputs);
    for (std::size_t h = 0; h < read.size(); ++h) {
      const auto row = static_cast<std::int64_t>(h);
      read[h].push_back(inputs.rows(row, row + 1));
      EXPECT_EQ(decoder.position(row), i + 1);
      if (i % 7 != 0 && i + 1 != length) continue;
      BatchedDecoder anew(*made.model, made.graph);
      anew.add();
      const Tensor expected = anew.read(concatenate(read[h], 0), std::array{i + 1});
      expect_same_bits(rows.rows(row, row + 1), expected.rows(i, i + 1));
    }
  }
}

TEST(BatchedDecoder, KeepsWhatHypothesesShareOnceAndUsesFreedRowsAgain) {
  constexpr std::int64_t length = 100;
  LanguageModel made({{"kind", "window"}, {"width", 4}}, length, true);
  BatchedDecoder decoder(*made.model, made.graph);
  decoder.add();
  decoder.read(random_tensor({70, dim}), std::array<std::int64_t, 1>{70});
  EXPECT_EQ(decoder.cached_nodes(), 70);
  decoder.reorder(std::array{0, 0, 0, 0, 0});
  EXPECT_EQ(decoder.cached_nodes(), 70);
  decoder.read(random_tensor({5, dim}));
  decoder.read(random_tensor({5, dim}));
  EXPECT_EQ(decoder.cached_nodes(), 80);
  decoder.reorder(std::array{3, 3});
  EXPECT_EQ(decoder.cached_nodes(), 72) << "what the other three had of their own is free";
  decoder.read(random_tensor({2, dim}));
  EXPECT_EQ(decoder.cached_nodes(), 74);
  decoder.clear();
  EXPECT_EQ(decoder.cached_nodes(), 0);
  EXPECT_EQ(decoder.size(), 0);
}

TEST(BatchedDecoder, FollowsParametersThatChange) {
  LanguageModel made({{"kind", "bpt"}, {"k", 2}}, 9, false);
  BatchedDecoder decoder(*made.model, made.graph);
  const Tensor tokens = random_tensor({9, dim});
  const NoGrad no_grad;
  for (const auto& [name, parameter] : made.model->named_parameters()) {
    SCOPED_TRACE(name);
    Tensor written = parameter;
    written.assign(random_tensor(parameter.shape(), DType::float32, 5));
    decoder.clear();
    decoder.add();
    expect_close(decoder.read(tokens, std::array<std::int64_t, 1>{9}), made.whole(tokens),
                 test::Tolerance{.relative = 1e-3, .absolute = 1e-3});
  }
}

TEST(BatchedDecoder, SaysWhatItCannotRead) {
  LanguageModel made({{"kind", "bpt"}}, 4, true);
  BatchedDecoder decoder(*made.model, made.graph);
  EXPECT_EQ(decoder.read(zeros({0, dim})).shape(), (Shape{0, dim})) << "no hypotheses, no rows";
  decoder.add(2);
  EXPECT_THAT(test::error_message<ShapeError>([&] { decoder.read(zeros({1, dim})); }), HasSubstr("[2, 16]"));
  EXPECT_THAT(test::error_message<ShapeError>([&] {
                decoder.read(zeros({2, dim}), std::array<std::int64_t, 1>{2});
              }),
              HasSubstr("1 counts for 2 hypotheses"));
  EXPECT_THAT(test::error_message<TypeError>([&] {
                decoder.read(zeros({2, dim}, DType::float64));
              }),
              HasSubstr("float32"));
  decoder.read(zeros({4, dim}), std::array<std::int64_t, 2>{0, 4});
  EXPECT_THAT(test::error_message<IndexError>([&] {
                decoder.read(zeros({2, dim}));
              }),
              HasSubstr("hypothesis 1 has read 4 of all 4 tokens"));
  EXPECT_EQ(decoder.position(0), 0) << "nothing was read";
  EXPECT_THROW(decoder.read(zeros({1, dim}), std::array<std::int64_t, 2>{-1, 2}), IndexError);
  EXPECT_THAT(test::error_message<IndexError>([&] {
                decoder.reorder(std::array{0, 2});
              }),
              HasSubstr("no hypothesis 2 of 2"));
  EXPECT_EQ(decoder.size(), 2);
  EXPECT_THROW(decoder.add(-1), ConfigError);
  EXPECT_THAT(test::error_message<ConfigError>([&] {
                decoder.add_sources(zeros({1, dim}), std::array<std::int64_t, 1>{1});
              }),
              HasSubstr("use add"));
}

/// An encoder-decoder's decoder over the nodes of `pattern`, in training mode.
struct Decoder {
  Decoder(const json& pattern, std::int64_t length, bool pre_norm, std::int64_t cross_relations = 1)
      : graph(causal(pattern, length)) {
    manual_seed(6);
    GraphTransformerDecoderOptions options{.layers = 2,
                                           .layer = {.dim = dim,
                                                     .heads = 2,
                                                     .feed_forward = 24,
                                                     .num_relations = graph.num_relations(),
                                                     .pre_norm = pre_norm,
                                                     .dropout = 0.5},
                                           .num_cross_relations = cross_relations};
    model = std::make_unique<GraphTransformerDecoder>(options);
  }

  Tensor whole(const Tensor& tokens, const Tensor& encoded, const Graph& cross) {
    const NoGrad no_grad;
    model->eval();
    const Tensor rows = model->forward(make_layer_schedule(graph, {.layers = 2}), cross, tokens, encoded);
    model->train();
    return rows;
  }

  AttentionGraph graph;
  std::unique_ptr<GraphTransformerDecoder> model;
};

/// Every token attends to source rows begin(token) .. end(token)-1, with relations that depend on both.
template <typename Begin, typename End>
Graph cross_graph(std::int64_t tokens, std::int64_t rows, std::int32_t relations, const Begin& begin, const End& end) {
  std::vector<std::int32_t> src, dst, types;
  for (std::int32_t token = 0; token < tokens; ++token) {
    for (std::int32_t row = begin(token); row < end(token); ++row) {
      src.push_back(row);
      dst.push_back(token);
      types.push_back((row + token) % relations);
    }
  }
  return Graph::bipartite(
      src, dst, {.num_src = rows, .num_dst = tokens, .edge_types = std::move(types), .num_edge_types = relations});
}

Graph all_to_all(std::int64_t tokens, std::int64_t rows) {
  return cross_graph(
      tokens, rows, 1, [](auto) { return 0; }, [=](auto) { return static_cast<std::int32_t>(rows); });
}

TEST(BatchedDecoder, ReadsSourcesOfDifferentLengthsBesideItsOwnTokens) {
  for (const json& pattern :
       {json{{"kind", "bpt"}, {"k", 2}}, json{{"kind", "full"}}, json{{"kind", "window"}, {"width", 3}},
        json{{"kind", "sparse_strided"}, {"stride", 4}, {"split_heads", true}}}) {
    for (const bool pre_norm : {true, false}) {
      SCOPED_TRACE(testing::Message() << pattern << " pre-norm " << pre_norm);
      constexpr std::int64_t length = 19;
      Decoder made(pattern, length, pre_norm);
      const std::array<std::int64_t, 3> rows{7, 0, 12};
      const Tensor encoded = random_tensor({19, dim}, DType::float32, 3);
      BatchedDecoder decoder(*made.model, made.graph);
      decoder.add_sources(encoded, rows);
      decoder.reorder(std::array{0, 1, 2, 2, 0});  // beams of a source share it
      const std::array<int, 5> source{0, 1, 2, 2, 0};
      std::vector<Tensor> tokens, whole;
      for (std::size_t i = 0; i < 5; ++i) {
        const std::int64_t begin = source[i] == 0 ? 0 : 7, count = rows[static_cast<std::size_t>(source[i])];
        tokens.push_back(random_tensor({length, dim}, DType::float32, i));
        whole.push_back(made.whole(tokens[i], encoded.rows(begin, begin + count), all_to_all(length, count)));
      }
      for (std::int64_t at = 0; at < length; ++at) {
        std::vector<Tensor> read, expected;
        for (std::size_t i = 0; i < 5; ++i) {
          read.push_back(tokens[i].rows(at, at + 1));
          expected.push_back(whole[i].rows(at, at + 1));
        }
        expect_close(decoder.read(concatenate(read, 0)), concatenate(expected, 0));
      }
    }
  }
}

TEST(BatchedDecoder, ReadsSentencesOfADocumentEachBesideItsOwnSource) {
  constexpr std::int64_t length = 20;
  Decoder made({{"kind", "bpt"}, {"k", 2}}, length, true);
  const Tensor encoded = random_tensor({13, dim}, DType::float32, 3), tokens = random_tensor({length, dim});
  // The first 8 tokens belong to the first 6 rows of the source.
  const Graph aligned = cross_graph(
      length, 13, 1, [](auto token) { return token < 8 ? 0 : 6; }, [](auto token) { return token < 8 ? 6 : 13; });
  const Tensor whole = made.whole(tokens, encoded, aligned);
  BatchedDecoder decoder(*made.model, made.graph);
  decoder.add_sources(encoded.rows(0, 6), std::array<std::int64_t, 1>{6});
  expect_close(decoder.read(tokens.rows(0, 8), std::array<std::int64_t, 1>{8}), whole.rows(0, 8));
  decoder.set_source(0, encoded.rows(6, 13));
  expect_close(decoder.read(tokens.rows(8, length), std::array{length - 8}), whole.rows(8, length));
}

TEST(BatchedDecoder, FollowsACrossGraphAndItsRelations) {
  constexpr std::int64_t length = 17;
  Decoder made({{"kind", "bpt"}, {"k", 2}}, length, false, 3);
  const Tensor encoded = random_tensor({9, dim}, DType::float32, 3), tokens = random_tensor({length, dim});
  const Graph cross = cross_graph(
      length, 9, 3, [](auto token) { return token % 4; }, [](auto token) { return token == 5 ? 0 : 9; });
  const Tensor whole = made.whole(tokens, encoded, cross);
  BatchedDecoder decoder(*made.model, made.graph);
  decoder.add_sources(zeros({0, dim}), std::array<std::int64_t, 1>{0});
  decoder.set_source(0, encoded, cross);
  expect_close(decoder.read(tokens.rows(0, 9), std::array<std::int64_t, 1>{9}), whole.rows(0, 9));
  decoder.reorder(std::array{0, 0});
  const Tensor rest = tokens.rows(9, length);
  expect_close(decoder.read(concatenate({rest, rest}, 0), std::array{length - 9, length - 9}),
               concatenate({whole.rows(9, length), whole.rows(9, length)}, 0));
}

TEST(BatchedDecoder, RefusesSourcesThatDoNotFit) {
  Decoder made({{"kind", "bpt"}, {"k", 2}}, 5, false);
  BatchedDecoder decoder(*made.model, made.graph);
  EXPECT_THAT(test::error_message<ConfigError>([&] { decoder.add(); }), HasSubstr("use add_sources"));
  EXPECT_THAT(test::error_message<ShapeError>([&] {
                decoder.add_sources(zeros({3, dim}), std::array<std::int64_t, 2>{1, 3});
              }),
              HasSubstr("[4, 16]"));
  EXPECT_THROW(decoder.add_sources(zeros({1, dim}), std::array<std::int64_t, 2>{-1, 2}), ShapeError);
  EXPECT_EQ(decoder.size(), 0);
  decoder.add_sources(zeros({3, dim}), std::array<std::int64_t, 1>{3});
  EXPECT_THROW(decoder.set_source(1, zeros({3, dim})), IndexError);
  EXPECT_THROW(decoder.set_source(0, zeros({3, dim + 1})), ShapeError);
  EXPECT_THROW(decoder.set_source(0, zeros({3})), ShapeError);
  const auto refusal = [&](const Graph& cross) {
    return test::graph_error([&] { decoder.set_source(0, zeros({3, dim}), cross); });
  };
  EXPECT_THAT(refusal(all_to_all(5, 2)), HasSubstr("from the 3 rows"));
  EXPECT_THAT(refusal(all_to_all(6, 3)), HasSubstr("at most 5 positions"));
  EXPECT_THAT(refusal(causal("bpt", 3).graph), HasSubstr("bipartite"));
  EXPECT_THAT(refusal(cross_graph(
                  5, 3, 2, [](auto) { return 0; }, [](auto) { return 3; })),
              HasSubstr("2 relations"));
  decoder.set_source(0, zeros({3, dim}), all_to_all(2, 3));
  EXPECT_THAT(test::error_message<IndexError>([&] {
                decoder.read(zeros({3, dim}), std::array<std::int64_t, 1>{3});
              }),
              HasSubstr("ends at position 2"));
  EXPECT_EQ(decoder.size(), 1);
}

}  // namespace
}  // namespace bough::nn
