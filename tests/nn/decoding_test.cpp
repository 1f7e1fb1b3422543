#include "bough/nn/decoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "bough/ops/arrange.h"
#include "bough/ops/rows.h"
#include "tests/support/errors.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// A model whose scores are any function of all tokens read.
class FunctionScorer : public NextTokenScorer {
 public:
  using Function = std::function<std::vector<float>(const Tokens&)>;
  FunctionScorer(std::int64_t sequences, Function function, std::int64_t length = 1000)
      : length_(length), function_(std::move(function)), read_(static_cast<std::size_t>(sequences)) {}

  std::int64_t size() const override { return std::ssize(read_); }
  std::int64_t room() const override {
    std::int64_t longest = 0;
    for (const Tokens& tokens : read_) longest = std::max(longest, std::ssize(tokens));
    return length_ - longest;
  }
  Tensor score(std::span<const std::int32_t> tokens) override {
    std::vector<float> all;
    for (std::size_t i = 0; i < read_.size(); ++i) {
      read_[i].push_back(tokens[i]);
      EXPECT_LE(std::ssize(read_[i]), length_);
      const std::vector<float> scores = function_(read_[i]);
      all.insert(all.end(), scores.begin(), scores.end());
    }
    return Tensor::from_vector(all, {size(), std::ssize(all) / size()});
  }
  void reorder(std::span<const std::int32_t> parents) override {
    std::vector<Tokens> next;
    for (const std::int32_t parent : parents) next.push_back(read_.at(static_cast<std::size_t>(parent)));
    read_ = std::move(next);
  }

 private:
  std::int64_t length_;
  Function function_;
  std::vector<Tokens> read_;
};

/// Normal random scores, different after every sequence of tokens.
FunctionScorer::Function random_scores(std::int64_t vocabulary, std::uint64_t seed, float scale = 2) {
  return [=](const Tokens& read) {
    std::uint64_t number = seed;
    for (const std::int32_t token : read) number = number * 1000003 + static_cast<std::uint64_t>(token) + 1;
    std::vector<float> scores;
    for (const float score : test::random_tensor({vocabulary}, DType::float32, number).to_vector<float>()) {
      scores.push_back(scale * score);
    }
    return scores;
  };
}

double log_probability(const FunctionScorer::Function& scores, const Tokens& read, std::int32_t next) {
  const std::vector<float> row = scores(read);
  double total = 0;
  for (const float score : row) total += std::exp(static_cast<double>(score));
  return static_cast<double>(row[static_cast<std::size_t>(next)]) - std::log(total);
}

/// All sequences of up to max_length tokens, best first, with the score that their sum of log-probabilities gives.
std::vector<Hypothesis> all_sequences(const FunctionScorer::Function& scores, std::int32_t vocabulary, std::int32_t end,
                                      std::int64_t max_length, const std::function<double(double, double)>& score_of) {
  std::vector<Hypothesis> found;
  const std::function<void(Tokens, double)> extend = [&](const Tokens& tokens, double sum) {
    Tokens read{0};
    read.insert(read.end(), tokens.begin(), tokens.end());
    const double ended = sum + log_probability(scores, read, end);
    found.push_back({tokens, ended, score_of(ended, static_cast<double>(tokens.size()) + 1), true});
    if (std::ssize(tokens) == max_length) return;
    for (std::int32_t next = 0; next < vocabulary; ++next) {
      if (next == end) continue;
      Tokens longer = tokens;
      longer.push_back(next);
      extend(longer, sum + log_probability(scores, read, next));
    }
  };
  extend({}, 0);
  std::ranges::stable_sort(found, std::greater(), &Hypothesis::score);
  return found;
}

TEST(BeamSearch, WideEnoughFindsTheBestOfAllSequences) {
  for (const LengthPenalty kind : {LengthPenalty::power, LengthPenalty::gnmt}) {
    for (const double alpha : {0.0, 0.6, 1.0, 2.0}) {
      for (const BeamStop stop : {BeamStop::width_ended, BeamStop::certain}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << " " << alpha << " " << static_cast<int>(stop));
        const auto scores = random_scores(5, 11);
        const auto score_of = [&](double sum, double length) {
          return sum / std::pow(kind == LengthPenalty::gnmt ? (5 + length) / 6 : length, alpha);
        };
        const std::vector<Hypothesis> expected = all_sequences(scores, 5, 2, 3, score_of);
        FunctionScorer scorer(1, scores);
        const auto found = beam_search(scorer, Tokens{0},
                                       {.width = 125,
                                        .n_best = 20,
                                        .length_penalty = kind,
                                        .alpha = alpha,
                                        .stop = stop,
                                        .limits = {.end_of_sentence = 2, .max_length = 3}});
        ASSERT_EQ(found.size(), 1u);
        ASSERT_EQ(found[0].size(), 20u);
        for (std::size_t i = 0; i < 20; ++i) {
          EXPECT_EQ(found[0][i].tokens, expected[i].tokens) << i;
          EXPECT_NEAR(found[0][i].score, expected[i].score, 1e-5);
          EXPECT_NEAR(found[0][i].log_probability, expected[i].log_probability, 1e-5);
          EXPECT_TRUE(found[0][i].ended);
        }
        EXPECT_EQ(scorer.size(), 0) << "no hypothesis is left";
      }
    }
  }
}

TEST(BeamSearch, OfWidthOneIsGreedy) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SearchLimits limits{.end_of_sentence = 3, .min_length = 2, .max_length = 8};
    FunctionScorer one(4, random_scores(6, seed)), other(4, random_scores(6, seed));
    const Tokens first{0, 1, 2, 4};
    const auto beams = beam_search(one, first, {.width = 1, .limits = limits});
    const auto greedy = greedy_search(other, first, limits);
    for (std::size_t i = 0; i < first.size(); ++i) {
      ASSERT_EQ(beams[i].size(), 1u);
      EXPECT_EQ(beams[i][0].tokens, greedy[i].tokens);
      EXPECT_DOUBLE_EQ(beams[i][0].log_probability, greedy[i].log_probability);
      EXPECT_EQ(beams[i][0].ended, greedy[i].ended);
      EXPECT_GE(greedy[i].tokens.size(), 2u);
    }
  }
}

TEST(BeamSearch, ResultsOfASequenceDoNotDependOnTheOthers) {
  const auto scores = random_scores(40, 5);
  BeamSearchOptions options{.width = 4, .n_best = 4, .limits = {.end_of_sentence = 7, .min_length = 1}};
  const Tokens first{3, 0, 9, 3, 22};
  options.limits.max_lengths = {5, 0, 30, 12, 9};
  FunctionScorer together(5, scores);
  const auto all = beam_search(together, first, options);
  for (std::size_t i = 0; i < first.size(); ++i) {
    FunctionScorer alone(1, scores);
    BeamSearchOptions own = options;
    own.limits.max_lengths = {options.limits.max_lengths[i]};
    const auto expected = beam_search(alone, Tokens{first[i]}, own)[0];
    ASSERT_EQ(all[i].size(), expected.size());
    double before = infinity;
    for (std::size_t j = 0; j < expected.size(); ++j) {
      EXPECT_EQ(all[i][j].tokens, expected[j].tokens);
      EXPECT_EQ(all[i][j].score, expected[j].score);
      EXPECT_LE(std::ssize(all[i][j].tokens), options.limits.max_lengths[i]);
      EXPECT_TRUE(all[i][j].ended) << "at the largest length only the end may follow";
      EXPECT_LE(all[i][j].score, before);
      before = all[i][j].score;
    }
  }
  EXPECT_THAT(all[1], testing::SizeIs(1)) << "the empty result is the only one of length 0";
}

TEST(BeamSearch, WithoutAnEndAllResultsHaveTheLargestLength) {
  FunctionScorer scorer(2, random_scores(3, 8));
  const auto found = beam_search(scorer, Tokens{0, 1}, {.width = 27, .n_best = 27, .limits = {.max_lengths = {3, 0}}});
  ASSERT_EQ(found[0].size(), 27u);
  double sum = 0;
  for (const Hypothesis& one : found[0]) {
    EXPECT_EQ(one.tokens.size(), 3u);
    EXPECT_FALSE(one.ended);
    sum += std::exp(one.log_probability);
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  ASSERT_EQ(found[1].size(), 1u);
  EXPECT_THAT(found[1][0].tokens, ElementsAre());
}

TEST(BeamSearch, TakesEqualScoresInTheOrderOfTheirTokens) {
  FunctionScorer scorer(1, [](const Tokens&) { return std::vector<float>(4, 0.0f); });
  const auto found = beam_search(scorer, Tokens{0}, {.width = 4, .n_best = 4, .limits = {.max_length = 2}})[0];
  ASSERT_EQ(found.size(), 4u);
  for (std::int32_t i = 0; i < 4; ++i) EXPECT_THAT(found[static_cast<std::size_t>(i)].tokens, ElementsAre(0, i));
}

TEST(BeamSearch, StopsWhenAsManyHaveEndedAsTheBeamIsWide) {
  // The end is always the second choice, so that one hypothesis ends in each step.
  const auto scores = [](const Tokens&) { return std::vector<float>{2, 1, -5, -5, -5, -5, -5, -5}; };
  std::size_t longest = 0;
  const auto search = [&](BeamStop stop) {
    FunctionScorer scorer(1, [&](const Tokens& read) {
      longest = std::max(longest, read.size());
      return scores(read);
    });
    return beam_search(scorer, Tokens{0},
                       {.width = 2, .stop = stop, .limits = {.end_of_sentence = 1, .max_length = 50}});
  };
  search(BeamStop::width_ended);
  EXPECT_EQ(longest, 2u);
  // Score -0.33 a token for going on: the mean rises towards it, so the longest one is the best.
  const auto found = search(BeamStop::certain);
  EXPECT_EQ(longest, 51u);
  EXPECT_EQ(found[0][0].tokens.size(), 50u);
}

TEST(BeamSearch, LeavesOutWhatIsImpossible) {
  FunctionScorer scorer(2, [](const Tokens& read) {
    std::vector<float> scores(4, -infinity);
    if (read[0] == 0 || read.size() < 2) scores[1] = 0;
    return scores;
  });
  const auto found = beam_search(scorer, Tokens{0, 2}, {.width = 3, .limits = {.max_length = 3}});
  ASSERT_EQ(found[0].size(), 1u);
  EXPECT_THAT(found[0][0].tokens, ElementsAre(1, 1, 1));
  EXPECT_DOUBLE_EQ(found[0][0].log_probability, 0);
  EXPECT_THAT(found[1], testing::IsEmpty()) << "nothing may follow 2, 1";
}

TEST(BeamSearch, KeepsToTheRoomOfTheScorer) {
  FunctionScorer with_end(1, random_scores(4, 2), 5), without(1, random_scores(4, 2), 5),
      none(1, random_scores(4, 2), 0);
  const auto ended = beam_search(with_end, Tokens{0}, {.limits = {.end_of_sentence = 3, .min_length = 100}})[0];
  EXPECT_EQ(ended[0].tokens.size(), 4u) << "the fifth token is read to score the end";
  EXPECT_EQ(beam_search(without, Tokens{0})[0][0].tokens.size(), 5u);
  EXPECT_THAT(test::error_message<ConfigError>([&] { beam_search(none, Tokens{0}); }), HasSubstr("longer graph"));
}

TEST(Search, RefusesWhatMakesNoSense) {
  const auto refusal = [](const BeamSearchOptions& options) {
    FunctionScorer scorer(1, random_scores(4, 2));
    return test::error_message<ConfigError>([&] { beam_search(scorer, Tokens{0}, options); });
  };
  EXPECT_THAT(refusal({.width = 0}), HasSubstr("width must be from 1"));
  EXPECT_THAT(refusal({.width = 2, .n_best = 3}), HasSubstr("n_best must be from 1 to the width 2"));
  EXPECT_THAT(refusal({.alpha = -1}), HasSubstr("alpha"));
  EXPECT_THAT(refusal({.limits = {.end_of_sentence = 4}}), HasSubstr("scores of 4 tokens"));
  EXPECT_THAT(refusal({.limits = {.max_length = -1}}), HasSubstr("must not be negative"));
  const auto sampling_refusal = [](const SamplingOptions& options) {
    FunctionScorer scorer(1, random_scores(4, 2));
    return test::error_message<Error>([&] { sample(scorer, Tokens{0}, options); });
  };
  EXPECT_THAT(sampling_refusal({.temperature = -1}), HasSubstr("temperature"));
  EXPECT_THAT(sampling_refusal({.temperature = std::nan("")}), HasSubstr("temperature"));
  EXPECT_THAT(sampling_refusal({.top_k = -1}), HasSubstr("top_k"));
  EXPECT_THAT(sampling_refusal({.top_p = 0}), HasSubstr("top_p"));
  EXPECT_THAT(sampling_refusal({.numbers = {1, 2}}), HasSubstr("numbers has 2 entries"));
  EXPECT_THAT(sampling_refusal({.limits = {.max_lengths = {1, 2}}}), HasSubstr("max_lengths has 2 entries"));
  FunctionScorer two(2, random_scores(4, 2));
  EXPECT_THROW(beam_search(two, Tokens{0}), ShapeError);
  for (const float bad : {std::nanf(""), infinity}) {
    const auto scores = [bad](const Tokens&) { return std::vector<float>{0, bad, 1}; };
    FunctionScorer beams(1, scores), samples(1, scores);
    EXPECT_THAT(test::error_message<Error>([&] { beam_search(beams, Tokens{0}); }), HasSubstr("NaN or an infinity"));
    EXPECT_THAT(test::error_message<Error>([&] { sample(samples, Tokens{0}); }), HasSubstr("NaN or an infinity"));
  }
  FunctionScorer empty(0, random_scores(4, 2));
  EXPECT_THAT(beam_search(empty, Tokens{}), testing::IsEmpty());
  EXPECT_THAT(sample(empty, Tokens{}), testing::IsEmpty());
}

TEST(Sampling, OfTheLikeliestTokenAloneIsGreedy) {
  const SearchLimits limits{.end_of_sentence = 3, .max_length = 20};
  FunctionScorer a(3, random_scores(50, 1)), b(3, random_scores(50, 1)), c(3, random_scores(50, 1));
  const Tokens first{0, 1, 2};
  const auto greedy = greedy_search(a, first, limits);
  const auto one = sample(b, first, {.top_k = 1, .limits = limits});
  const auto certain = sample(c, first, {.top_p = 1e-9, .limits = limits});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(one[i].tokens, greedy[i].tokens);
    EXPECT_EQ(certain[i].tokens, greedy[i].tokens);
    EXPECT_EQ(one[i].log_probability, greedy[i].log_probability);
    EXPECT_EQ(one[i].score, one[i].log_probability);
  }
}

/// How often each token is drawn first, of many sequences.
std::map<std::int32_t, double> frequencies(const std::vector<float>& scores, SamplingOptions options) {
  constexpr std::int64_t count = 40000;
  FunctionScorer scorer(count, [&](const Tokens&) { return scores; });
  options.limits.max_length = 1;
  std::map<std::int32_t, double> result;
  for (const Hypothesis& one : sample(scorer, Tokens(count, 0), options)) result[one.tokens[0]] += 1.0 / count;
  return result;
}

TEST(Sampling, DrawsTokensAsOftenAsTheirProbabilitiesSay) {
  const std::vector<float> scores = {0, 1, -1, 2, 0.5f, 1};
  const auto expect_frequencies = [&](const SamplingOptions& options, const std::vector<std::int32_t>& left) {
    double total = 0;
    for (const std::int32_t token : left) {
      total += std::exp(static_cast<double>(scores[static_cast<std::size_t>(token)]) / options.temperature);
    }
    const auto drawn = frequencies(scores, options);
    EXPECT_EQ(drawn.size(), left.size());
    for (const std::int32_t token : left) {
      const double expected =
          std::exp(static_cast<double>(scores[static_cast<std::size_t>(token)]) / options.temperature) / total;
      EXPECT_NEAR(drawn.at(token), expected, 5 * std::sqrt(expected / 40000)) << token;
    }
  };
  expect_frequencies({}, {0, 1, 2, 3, 4, 5});
  expect_frequencies({.temperature = 0.5, .seed = 9}, {0, 1, 2, 3, 4, 5});
  expect_frequencies({.temperature = 3}, {0, 1, 2, 3, 4, 5});
  expect_frequencies({.top_k = 2}, {1, 3});  // of the equal ones the first
  expect_frequencies({.top_k = 3, .seed = 4}, {1, 3, 5});
  expect_frequencies({.top_k = 100}, {0, 1, 2, 3, 4, 5});
  // Probabilities are 0.06, 0.17, 0.02, 0.47, 0.10 and 0.17.
  expect_frequencies({.top_p = 0.5}, {1, 3});
  expect_frequencies({.top_p = 0.45}, {3});
  expect_frequencies({.top_p = 0.9}, {1, 3, 4, 5});
  expect_frequencies({.top_k = 4, .top_p = 0.75}, {1, 3, 5});  // 0.51, 0.19, 0.19, 0.11 of the four
}

TEST(Sampling, OfOneSeedIsTheSameInAnyBatchAndForAnyNumberOfThreads) {
  const auto scores = random_scores(30, 3);
  const SamplingOptions options{
      .temperature = 0.8, .top_p = 0.9, .seed = 12, .limits = {.end_of_sentence = 5, .max_length = 25}};
  FunctionScorer together(6, scores);
  const Tokens first{0, 1, 2, 3, 4, 4};
  std::vector<Tokens> heard(6);
  SamplingOptions listening = options;
  listening.on_token = [&](std::size_t sequence, std::int32_t token) { heard[sequence].push_back(token); };
  const auto all = sample(together, first, listening);
  EXPECT_NE(all[4].tokens, all[5].tokens) << "sequences draw apart";
  for (std::size_t i = 0; i < 6; ++i) {
    FunctionScorer alone(1, scores);
    SamplingOptions own = options;
    own.numbers = {i};
    const Hypothesis expected = sample(alone, Tokens{first[i]}, own)[0];
    EXPECT_EQ(all[i].tokens, expected.tokens);
    EXPECT_EQ(all[i].log_probability, expected.log_probability);
    EXPECT_EQ(heard[i], expected.tokens);
    double sum = 0;
    Tokens read{first[i]};
    for (const std::int32_t token : all[i].tokens) {
      sum += log_probability(scores, read, token);
      read.push_back(token);
    }
    if (all[i].ended) sum += log_probability(scores, read, 5);
    EXPECT_NEAR(all[i].log_probability, sum, 1e-4) << "of the model, without temperature and top_p";
  }
  FunctionScorer again(6, scores), other(6, scores);
  SamplingOptions reseeded = options;
  reseeded.seed = 13;
  EXPECT_EQ(sample(again, first, options)[2].tokens, all[2].tokens);
  EXPECT_NE(sample(other, first, reseeded)[2].tokens, all[2].tokens);
}

/// A language model on the graph of all it has read, again and again.
class UncachedScorer : public FunctionScorer {
 public:
  UncachedScorer(std::int64_t sequences, const GraphTransformer& model, const Tensor& embedding,
                 const AttentionGraph& graph)
      : FunctionScorer(
            sequences,
            [&](const Tokens& read) {
              const NoGrad no_grad;
              const std::int64_t length = graph.num_tokens();
              std::vector<Tensor> rows;
              for (const std::int32_t token : read) rows.push_back(embedding.rows(token, token + 1));
              rows.resize(static_cast<std::size_t>(length), embedding.rows(0, 1));  // causal: they change nothing
              const Tensor states = model.forward(make_layer_schedule(graph, {.layers = 2}), concatenate(rows, 0));
              return linear(states.rows(std::ssize(read) - 1, std::ssize(read)), embedding).to_vector<float>();
            },
            graph.num_tokens()) {}
};

TEST(BeamSearch, OverKeptKeysAndValuesFindsTheSameAsWithoutThem) {
  constexpr std::int64_t vocabulary = 12, length = 24, dim = 16;
  for (const char* kind : {"bpt", "full"}) {
    const AttentionGraph graph = generators().make(kind)->build({.length = length, .causal = true});
    manual_seed(7);
    GraphTransformer model(GraphTransformerOptions::for_graph(
        graph, {.layers = 2, .layer = {.dim = dim, .heads = 2, .feed_forward = 32, .pre_norm = true}}));
    model.eval();
    const Tensor embedding = test::random_tensor({vocabulary, dim}, DType::float32, 3);
    const BeamSearchOptions options{.width = 5,
                                    .n_best = 5,
                                    .alpha = 0.6,
                                    .limits = {.end_of_sentence = 1, .min_length = 3, .max_lengths = {9, 30, 4}}};
    const Tokens first{2, 3, 2};

    UncachedScorer uncached(3, model, embedding, graph);
    const auto expected = beam_search(uncached, first, options);
    BatchedDecoder decoder(model, graph);
    decoder.add(3);
    DecoderScorer cached(
        decoder, [&](const Tensor& tokens, const Tensor&) { return gather_rows(embedding, tokens); },
        [&](const Tensor& states) { return linear(states, embedding); });
    const auto found = beam_search(cached, first, options);
    for (std::size_t i = 0; i < first.size(); ++i) {
      ASSERT_EQ(found[i].size(), expected[i].size());
      for (std::size_t j = 0; j < found[i].size(); ++j) {
        EXPECT_EQ(found[i][j].tokens, expected[i][j].tokens);
        EXPECT_NEAR(found[i][j].score, expected[i][j].score, 1e-4);
      }
    }
    EXPECT_EQ(decoder.cached_nodes(), 0);
  }
}

TEST(DecoderScorer, ReadsPromptsAtTheirPositions) {
  constexpr std::int64_t dim = 8;
  const AttentionGraph graph = generators().make("full")->build({.length = 9, .causal = true});
  GraphTransformer model(GraphTransformerOptions::for_graph(graph, {.layers = 1, .layer = {.dim = dim, .heads = 2}}));
  BatchedDecoder decoder(model, graph);
  decoder.add(3);
  std::vector<std::pair<std::int32_t, std::int32_t>> embedded;
  DecoderScorer scorer(
      decoder,
      [&](const Tensor& tokens, const Tensor& positions) {
        const auto token = tokens.to_vector<std::int32_t>(), at = positions.to_vector<std::int32_t>();
        for (std::size_t i = 0; i < token.size(); ++i) embedded.emplace_back(token[i], at[i]);
        return zeros({tokens.size(0), dim});
      },
      [](const Tensor& states) { return states; });
  scorer.read(std::vector<Tokens>{{4, 5}, {}, {6}});
  EXPECT_EQ(scorer.room(), 7);
  EXPECT_EQ(scorer.score(Tokens{1, 2, 3}).shape(), (Shape{3, dim}));
  scorer.read(std::vector<Tokens>{{}, {7, 8}, {}});
  using Pair = std::pair<std::int32_t, std::int32_t>;
  EXPECT_THAT(embedded, ElementsAre(Pair{4, 0}, Pair{5, 1}, Pair{6, 0}, Pair{1, 2}, Pair{2, 0}, Pair{3, 1}, Pair{7, 1},
                                    Pair{8, 2}));
  EXPECT_THROW(scorer.score(Tokens{1}), ShapeError);
  EXPECT_THROW(scorer.read(std::vector<Tokens>{{1}}), ShapeError);
}

}  // namespace
}  // namespace bough::nn
