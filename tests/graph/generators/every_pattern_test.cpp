#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "tests/graph/generators/edge_list.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using nlohmann::json;

/// Every pattern, with small parameters so that short sequences show everything it does.
std::vector<json> specifications() {
  return {
      {{"kind", "adaptive_span"}, {"max_span", 5}, {"ramp", 2}},
      {{"kind", "bigbird"}, {"width", 2}, {"global", 2}, {"random", 3}, {"seed", 7}},
      {{"kind", "blocks"}, {"size", 4}},
      {{"kind", "bpt"}, {"k", 2}},
      {{"kind", "bpt"}, {"k", 1}, {"alignment", "slot"}, {"clip_levels", 2}},
      {{"kind", "causal"}, {"of", {{"kind", "expander"}, {"degree", 3}}}},
      {{"kind", "causal"}, {"of", {{"kind", "star"}}}},
      {{"kind", "chain"}},
      {{"kind", "chain"}, {"skip", 3}},
      {{"kind", "cross"}},
      {{"kind", "dilated"}, {"width", 3}, {"dilation", 3}},
      {{"kind", "expander"}, {"degree", 4}, {"seed", 3}},
      {{"kind", "expander"}, {"degree", 5}, {"seed", 3}},
      {{"kind", "full"}, {"max_distance", 6}},
      {{"kind", "full"}, {"max_distance", 0}},
      {{"kind", "hierarchical"}, {"size", 4}},
      {{"kind", "hierarchical"}, {"size", 3}, {"feedback", true}},
      {{"kind", "kary"}, {"arity", 3}, {"k", 2}},
      {{"kind", "logsparse"}},
      {{"kind", "longformer"}, {"width", 3}, {"dilation", 1}, {"global", 2}},
      {{"kind", "longformer"}, {"width", 3}, {"dilation", 2}, {"global", 3}},
      {{"kind", "memory"}, {"length", 5}},
      {{"kind", "memory"}},
      {{"kind", "remap"}, {"of", {{"kind", "bpt"}}}, {"names", {{"left", "before"}, {"right", "after"}}}},
      {{"kind", "sentences"}, {"size", 5}, {"max_distance", 7}},
      {{"kind", "sentences"}, {"reads", "tokens"}, {"size", 4}},
      {{"kind", "sentences"}, {"reads", "nothing"}, {"size", 3}},
      {{"kind", "sparse_fixed"}, {"stride", 5}, {"c", 2}},
      {{"kind", "sparse_strided"}, {"stride", 4}},
      {{"kind", "sparse_strided"}, {"stride", 4}, {"split_heads", true}},
      {{"kind", "star"}},
      {{"kind", "union"},
       {"of", {{{"kind", "bpt"}, {"k", 1}}, {{"kind", "window"}, {"width", 3}}, {{"kind", "full"}}}}},
      {{"kind", "window"}, {"width", 3}},
  };
}

class EveryPattern : public testing::TestWithParam<json> {
 protected:
  std::unique_ptr<GraphGenerator> generator = generators().make(GetParam());

  std::vector<bool> directions() const {
    return generator->supports_causal() ? std::vector<bool>{false, true} : std::vector<bool>{false};
  }
};

TEST_P(EveryPattern, IsWellFormedForEveryShortLength) {
  for (const bool causal : directions()) {
    for (int n = 1; n <= 70; ++n) {
      SCOPED_TRACE(testing::Message() << "n " << n << " causal " << causal);
      const AttentionGraph graph = generator->build({.length = n, .causal = causal});
      ASSERT_NO_THROW(graph.validate());
      ASSERT_EQ(graph.num_tokens(), n);
      ASSERT_EQ(graph.graph.num_edge_types(), generator->num_relations(n));
      ASSERT_EQ(graph.sequences.size(), 1u);
    }
  }
}

TEST_P(EveryPattern, KnowsItsDegreeAsIfItHadBeenBuilt) {
  for (const bool causal : directions()) {
    for (int n = 1; n <= 70; n += 3) {
      const BuildOptions options{.length = n, .causal = causal};
      ASSERT_DOUBLE_EQ(generator->attention_degree(options), attention_degree(generator->build(options))) << "n " << n;
    }
  }
}

TEST_P(EveryPattern, GivesARelationTheSameIdForEveryLength) {
  const std::vector<std::string> longest = generator->build({.length = 200}).relations;
  for (int n = 1; n < 200; n += 1 + n / 7) {
    const std::vector<std::string> names = generator->build({.length = n}).relations;
    ASSERT_LE(names.size(), longest.size());
    ASSERT_LE(generator->num_relations(n), generator->num_relations(n + 1));
    for (std::size_t id = 0; id < names.size(); ++id) {
      if (names[id].empty()) continue;  // not used at this length
      ASSERT_EQ(names[id], longest[id]) << "id " << id << " n " << n;
    }
  }
}

TEST_P(EveryPattern, NoTokenDependsOnALaterOneThroughAnyNumberOfLayers) {
  if (!generator->supports_causal()) {
    EXPECT_THROW(generator->build({.length = 8, .causal = true}), ConfigError);
    return;
  }
  for (int n = 1; n <= 90; n += 1 + n / 9) {
    SCOPED_TRACE(testing::Message() << "n " << n);
    const AttentionGraph graph = generator->build({.length = n, .causal = true});
    EXPECT_TRUE(graph.causal);
    test::expect_causal(graph);
  }
}

TEST_P(EveryPattern, IsTheSameForOneTwoAndSevenThreads) {
  for (const bool causal : directions()) {
    const auto build = [&](int threads) {
      const test::ThreadCount scope(threads);
      return generator->build({.length = 4500, .causal = causal});
    };
    if (GetParam()["kind"] == "full" || GetParam()["kind"] == "cross" || GetParam()["kind"] == "memory") continue;
    if (GetParam()["kind"] == "union" || GetParam().value("reads", "") == "tokens")
      continue;  // 20 million edges each: the same code as the others
    const AttentionGraph one = build(1);
    for (const int threads : {2, 7}) {
      const AttentionGraph other = build(threads);
      ASSERT_TRUE(std::ranges::equal(one.graph.coo().src, other.graph.coo().src));
      ASSERT_TRUE(std::ranges::equal(one.graph.coo().dst, other.graph.coo().dst));
      ASSERT_TRUE(std::ranges::equal(one.graph.edge_types(), other.graph.edge_types()));
    }
  }
}

TEST_P(EveryPattern, RefusesLengthsOutOfRange) {
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{3'000'000'000}}) {
    EXPECT_THROW(generator->build({.length = length}), GraphError) << length;
  }
}

std::string name_of(const testing::TestParamInfo<json>& info) {
  return info.param["kind"].get<std::string>() + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(Patterns, EveryPattern, testing::ValuesIn(specifications()), name_of);

TEST(Patterns, AreAllTested) {
  std::set<std::string> tested;
  for (const json& specification : specifications()) tested.insert(specification["kind"]);
  for (const GeneratorDescription& description : generators().list()) {
    if (description.name == "file") continue;
    EXPECT_TRUE(tested.contains(description.name)) << description.name;
  }
}

TEST(Patterns, AreMadeFromTheirDefaultsUnlessTheyNeedOtherPatterns) {
  for (const GeneratorDescription& description : generators().list()) {
    const auto& parameters = description.parameters.parameters();
    if (std::ranges::any_of(parameters, &Parameter::required)) {
      EXPECT_THROW(generators().make(description.name), ConfigError);
      continue;
    }
    const auto generator = generators().make(description.name);
    EXPECT_NO_THROW(generator->build({.length = 300}).validate()) << description.name;
    EXPECT_EQ(generator->supports_causal(), description.causal) << description.name;
  }
}

}  // namespace
}  // namespace bough
