#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/attention_graph_builder.h"
#include "bough/graph/graph_generator.h"
#include "graph/generators/wanted_degree.h"

namespace bough {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// Every built-in pattern whose degree can be chosen, as a specification without the parameter that is solved.
std::vector<json> solvable() {
  return {{{"kind", "adaptive_span"}},
          {{"kind", "bigbird"}, {"random", 2}},
          {{"kind", "blocks"}},
          {{"kind", "bpt"}},
          {{"kind", "bpt"}, {"alignment", "slot"}},
          {{"kind", "dilated"}},
          {{"kind", "hierarchical"}},
          {{"kind", "hierarchical"}, {"feedback", true}},
          {{"kind", "sentences"}},
          {{"kind", "sentences"}, {"reads", "nothing"}},
          {{"kind", "kary"}},
          {{"kind", "longformer"}},
          {{"kind", "memory"}},
          {{"kind", "sparse_fixed"}, {"stride", 8}},
          {{"kind", "sparse_strided"}},
          {{"kind", "sparse_strided"}, {"split_heads", true}},
          {{"kind", "window"}}};
}

json with(json object, const char* key, const json& value) {
  object[key] = value;
  return object;
}

std::string error_of(json specification, const BuildOptions& options = {.length = 512, .causal = true}) {
  try {
    choose_degree(specification, options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

double degree_of(const json& specification, const BuildOptions& options) {
  return attention_degree(generators().make(specification)->build(options));
}

TEST(ChooseDegree, KnowsEveryPatternThatSaysWhichParameterItTakes) {
  std::set<std::string> tested;
  for (const json& specification : solvable()) tested.insert(specification["kind"]);
  for (const GeneratorDescription& description : generators().list()) {
    EXPECT_EQ(tested.contains(description.name), !description.degree.parameter.empty()) << description.name;
  }
}

class ChosenDegree : public testing::TestWithParam<json> {};

TEST_P(ChosenDegree, NoOtherValueComesNearer) {
  const std::string parameter = generators().describe(GetParam()["kind"]).degree.parameter;
  for (const BuildOptions& options : {BuildOptions{.length = 40}, BuildOptions{.length = 150, .causal = true}}) {
    std::map<std::int64_t, double> degrees;
    for (std::int64_t value = 0; value <= options.length; ++value) {
      try {
        degrees[value] = degree_of(with(GetParam(), parameter.c_str(), value), options);
      } catch (const ConfigError&) {  // outside of what the pattern takes
      }
    }
    // Where the degree first falls, the values before its lowest point are not looked for.
    const auto lowest = std::ranges::min_element(degrees, {}, [](const auto& entry) { return entry.second; });
    for (const double wanted : {1.5, 4.0, 9.0, 14.0, 21.5, 38.0, 70.0}) {
      SCOPED_TRACE(testing::Message() << GetParam() << " degree " << wanted << " length " << options.length);
      double nearest = lowest->second;
      for (auto entry = lowest; entry != degrees.end(); ++entry) {
        if (std::abs(entry->second - wanted) < std::abs(nearest - wanted)) nearest = entry->second;
      }
      json specification = with(GetParam(), "degree", wanted);
      if (std::max(nearest / wanted, wanted / nearest) > same_degree) {
        EXPECT_THAT(error_of(specification, options), HasSubstr("cannot be reached"));
        continue;
      }
      const auto choice = choose_degree(specification, options);
      ASSERT_TRUE(choice);
      EXPECT_EQ(choice->wanted, wanted);
      EXPECT_FALSE(specification.contains("degree"));
      EXPECT_DOUBLE_EQ(choice->degree, degree_of(specification, options));
      EXPECT_NEAR(std::abs(choice->degree - wanted), std::abs(nearest - wanted), 1e-9) << specification;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, ChosenDegree, testing::ValuesIn(solvable()));

TEST(ChooseDegree, SaysWhatItChose) {
  json window = {{"kind", "window"}, {"degree", 14}};
  const auto choice = choose_degree(window, {.length = 512, .causal = true});
  ASSERT_TRUE(choice);
  EXPECT_EQ(window, json({{"kind", "window"}, {"width", 13}}));
  EXPECT_EQ(choice->parameters, "width 13");
  EXPECT_EQ(to_string(*choice), "width 13 gives degree 13.82 (wanted: 14)");
}

TEST(ChooseDegree, SetsACompanionThatSuitsTheLengthUnlessItIsGiven) {
  json fixed = {{"kind", "sparse_fixed"}, {"degree", 31}};
  const auto choice = choose_degree(fixed, {.length = 256, .causal = true});
  ASSERT_TRUE(choice);
  EXPECT_EQ(fixed, json({{"kind", "sparse_fixed"}, {"stride", 16}, {"c", 3}}));
  EXPECT_EQ(choice->parameters, "stride 16, c 3");
  json given = {{"kind", "sparse_fixed"}, {"stride", 32}, {"degree", 31}};
  ASSERT_TRUE(choose_degree(given, {.length = 256, .causal = true}));
  EXPECT_EQ(given["stride"], 32);
}

TEST(ChooseDegree, LeavesSpecificationsWithoutItAndADegreeOfThePatternItself) {
  for (const json& specification : {json{{"kind", "expander"}, {"degree", 5}}, json{{"kind", "bpt"}, {"k", 2}},
                                    json("bpt"), json{{"degree", 3}}, json(7)}) {
    json same = specification;
    EXPECT_FALSE(choose_degree(same, {.length = 64}));
    EXPECT_EQ(same, specification);
  }
}

TEST(ChooseDegree, NamesTheRangeThatCanBeReached) {
  EXPECT_THAT(error_of({{"kind", "window"}, {"degree", 400}}),
              AllOf(HasSubstr("[window] degree 400 cannot be reached for 512 tokens, causal"),
                    HasSubstr("width from 0 to 512 gives degrees from 1 to 256.5")));
  EXPECT_THAT(error_of({{"kind", "sparse_fixed"}, {"degree", 14}}),
              AllOf(HasSubstr("with stride 32, c from 1 to 32 gives degrees from 24 to"), HasSubstr("c 1 gives 24")));
  EXPECT_THAT(error_of({{"kind", "kary"}, {"arity", 64}, {"degree", 6}}, {.length = 4096}),
              AllOf(HasSubstr("k 1 gives"), HasSubstr("cannot be reached for 4096 tokens:")));
  // Too long to look at all that could be reached.
  EXPECT_THAT(error_of({{"kind", "bpt"}, {"degree", 2}}, {.length = 1 << 16, .causal = true}),
              HasSubstr("k from 1 on gives degrees from"));
}

TEST(ChooseDegree, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(error_of({{"kind", "full"}, {"degree", 14}}),
              AllOf(HasSubstr("[full] no parameter"), HasSubstr("bpt (k)"), HasSubstr("window (width)")));
  EXPECT_THAT(error_of({{"kind", "window"}, {"width", 3}, {"degree", 14}}), HasSubstr("both given"));
  EXPECT_THAT(error_of({{"kind", "window"}, {"degree", "14"}}), HasSubstr("a number above 0, not \"14\""));
  EXPECT_THAT(error_of({{"kind", "window"}, {"degree", 0}}), HasSubstr("above 0"));
  EXPECT_THAT(error_of({{"kind", "windov"}, {"degree", 5}}), HasSubstr("did you mean \"window\""));
  EXPECT_THAT(error_of({{"kind", "window"}, {"wide", 1}, {"degree", 14}}), HasSubstr("wide"));
  const auto made = [](const json& specification) { generators().make(specification); };
  EXPECT_THROW(made({{"kind", "window"}, {"degree", 14}}), ConfigError);
  EXPECT_THROW(made({{"kind", "union"}, {"of", {{{"kind", "window"}, {"degree", 14}}}}}), ConfigError);
}

TEST(ChooseDegree, OfAPatternAroundAnotherSolvesTheParameterWithin) {
  const BuildOptions options{.length = 256, .causal = true};
  json causal = {{"kind", "causal"}, {"of", {{"kind", "bpt"}}}, {"degree", 14}};
  const auto choice = choose_degree(causal, options);
  ASSERT_TRUE(choice);
  EXPECT_EQ(causal, json({{"kind", "causal"}, {"of", {{"kind", "bpt"}, {"k", causal["of"]["k"]}}}}));
  EXPECT_EQ(choice->parameters, "of.k " + causal["of"]["k"].dump());
  EXPECT_DOUBLE_EQ(choice->degree, degree_of(causal, options)) << "of the whole, not of what it is around";
  for (const std::int64_t other : {-1, 1}) {
    json near = causal;
    near["of"]["k"] = causal["of"]["k"].get<std::int64_t>() + other;
    EXPECT_GE(std::abs(degree_of(near, options) - 14), std::abs(choice->degree - 14)) << near;
  }

  json names = {
      {"kind", "remap"}, {"of", {{"kind", "causal"}, {"of", "sparse_fixed"}}}, {"rest", "all"}, {"degree", 31}};
  ASSERT_TRUE(choose_degree(names, options));
  EXPECT_EQ(names["of"]["of"], json({{"kind", "sparse_fixed"}, {"stride", 16}, {"c", 3}}));
  EXPECT_EQ(names["rest"], "all");
  json random = {{"kind", "causal"}, {"of", "expander"}, {"degree", 14}};
  EXPECT_EQ(choose_degree(random, options)->parameters, "of.degree 26") << "the key within is another one";
}

TEST(ChooseDegree, OfAPatternAroundAnotherSaysWhatIsWrongWithin) {
  const auto causal = [](const json& of) { return error_of({{"kind", "causal"}, {"of", of}, {"degree", 14}}); };
  EXPECT_THAT(causal({{"kind", "window"}, {"width", 3}}), HasSubstr("[causal] degree and of.width are both given"));
  EXPECT_THAT(causal({{"kind", "expander"}, {"degree", 3}}), HasSubstr("degree and of.degree are both given"));
  EXPECT_THAT(causal("full"), AllOf(HasSubstr("[causal] no parameter of the full in it"), HasSubstr("bpt (k)")));
  EXPECT_THAT(causal("windov"), AllOf(HasSubstr("[of]"), HasSubstr("did you mean \"window\"")));
  EXPECT_THAT(causal(7), HasSubstr("of must be an object"));
  EXPECT_THAT(error_of({{"kind", "causal"}, {"degree", 14}}), HasSubstr("of is missing"));
  EXPECT_THAT(causal({{"kind", "window"}, {"wide", 3}}), AllOf(HasSubstr("[of] window"), HasSubstr("wide")));
  EXPECT_THAT(error_of({{"kind", "causal"}, {"of", "window"}, {"degree", 400}}),
              HasSubstr("of.width from 0 to 512 gives degrees from 1 to 256.5"));
  EXPECT_THAT(error_of({{"kind", "union"}, {"of", {"window", "logsparse"}}, {"degree", 14}}),
              AllOf(HasSubstr("[union] a \"degree\" is of the whole graph"), HasSubstr("each pattern in \"of\" adds")));
  EXPECT_THAT(causal({{"kind", "union"}, {"of", {"window", "logsparse"}}}),
              HasSubstr("each pattern in \"of.of\" adds"));
  EXPECT_THROW(generators().make({{"kind", "causal"}, {"of", "window"}, {"degree", 14}}), ConfigError);
}

TEST(ChooseDegree, IsOpenWhereAParameterForItIsNotGiven) {
  const auto is_open = [](const char* text) { return has_open_degree(json::parse(text)); };
  EXPECT_TRUE(is_open(R"({"kind": "window"})"));
  EXPECT_TRUE(is_open(R"({"kind": "expander"})"));
  EXPECT_TRUE(is_open(R"({"kind": "causal", "of": "bpt"})"));
  EXPECT_FALSE(is_open(R"({"kind": "window", "width": 3})"));
  EXPECT_FALSE(is_open(R"({"kind": "window", "degree": 3})"));
  EXPECT_FALSE(is_open(R"({"kind": "expander", "degree": 3})"));
  EXPECT_FALSE(is_open(R"({"kind": "causal", "of": {"kind": "bpt", "k": 2}})"));
  EXPECT_FALSE(is_open(R"({"kind": "union", "of": ["bpt", "window"]})"));
  EXPECT_FALSE(is_open(R"({"kind": "full"})"));
}

TEST(ChooseDegree, WorksInARequestWithItsLengthAndCausality) {
  const GraphRequest request = read_graph_request({{"kind", "bpt"}, {"degree", 21}, {"length", 256}, {"causal", true}});
  ASSERT_TRUE(request.choice);
  EXPECT_EQ(request.choice->parameters, "k 4");
  EXPECT_DOUBLE_EQ(attention_degree(request.build()), request.choice->degree);
  EXPECT_THROW(read_graph_request({{"kind", "bpt"}, {"degree", 21}}), ConfigError);
}

/// Attends to a share of the tokens before, and remembers the largest graph that it was asked for.
class Share final : public GraphGenerator {
 public:
  explicit Share(double share, std::shared_ptr<double> largest) : share_(share), largest_(std::move(largest)) {}

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const std::int32_t before = builder.add_relation("before");
    builder.add_rule([=, this](std::int32_t token, InEdges& in) {
      in.add_interval(token - static_cast<std::int64_t>(share_ * token), token + 1, before);
    });
    AttentionGraph graph = builder.build();
    *largest_ = std::max(*largest_, bough::attention_degree(graph));
    return graph;
  }
  std::int64_t num_relations(std::int64_t) const override { return 1; }

 private:
  double share_;
  std::shared_ptr<double> largest_;
};

GeneratorDescription share_description() {
  return {.name = "share",
          .summary = "a share of the tokens before",
          .parameters = {number_parameter("share", "of the tokens", {.initial = 0.5, .minimum = 0, .maximum = 1})},
          .degree = {.parameter = "share"}};
}

TEST(ChooseDegree, SolvesANumberOfAPluginWithoutBuildingMuchLargerGraphs) {
  GeneratorRegistry registry;
  const auto largest = std::make_shared<double>(0);
  registry.add(share_description(),
               [=](const Settings& settings) { return std::make_unique<Share>(settings.number("share"), largest); });
  json specification = {{"kind", "share"}, {"degree", 20}};
  const auto choice = choose_degree(specification, {.length = 1000, .causal = true}, registry);
  ASSERT_TRUE(choice);
  EXPECT_NEAR(choice->degree, 20, 0.01);
  EXPECT_NEAR(specification["share"].get<double>(), 0.04, 0.01);
  EXPECT_LT(*largest, 45);
}

TEST(ChooseDegree, ARegistryRefusesAParameterThatCannotBeSolved) {
  GeneratorRegistry registry;
  const auto error_of_rule = [&](GeneratorDescription description) -> std::string {
    try {
      registry.add(std::move(description), [](const Settings&) { return std::make_unique<Share>(1, nullptr); });
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  GeneratorDescription description = share_description();
  description.degree.parameter = "shore";
  EXPECT_THAT(error_of_rule(description), HasSubstr("there is no such parameter"));
  description = share_description();
  description.degree.companion = "stride";
  EXPECT_THAT(error_of_rule(description), HasSubstr("companion 'stride'"));
  description = share_description();
  description.parameters = {number_parameter("share", "without an end", {.initial = 0.5, .minimum = 0})};
  EXPECT_THAT(error_of_rule(description), HasSubstr("a minimum and a maximum"));
  description.parameters = {integer_parameter("share", ""), integer_parameter("degree", "")};
  EXPECT_THAT(error_of_rule(description), HasSubstr("a parameter called degree"));
}

TEST(ChooseDegree, AnExpandersOwnDegreeIsSolvedWherePatternsAreCompared) {
  const BuildOptions options{.length = 256, .causal = true};
  json expander = {{"kind", "expander"}, {"degree", 14}};
  EXPECT_FALSE(choose_degree(expander, options).has_value()) << "the key is its own";
  const auto choice = choose_own_degree(expander, options);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(expander["degree"], 26) << "half of the neighbours are earlier, and the token itself";
  EXPECT_NEAR(choice->degree, 14, 0.2);
  EXPECT_THAT(to_string(*choice), testing::StartsWith("its own degree 26 gives degree 1"));
  json window = {{"kind", "window"}, {"degree", 14}};
  EXPECT_FALSE(choose_own_degree(window, options).has_value());
  json beyond = {{"kind", "expander"}, {"degree", 200}};
  EXPECT_THROW(choose_own_degree(beyond, options), ConfigError) << "more than a causal graph of 256 tokens has";
}

}  // namespace
}  // namespace bough
