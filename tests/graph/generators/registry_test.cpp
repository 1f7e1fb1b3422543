#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/attention_graph_builder.h"
#include "tests/graph/generators/edge_list.h"

namespace bough {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class SelfOnly final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    return {.name = "self_only",
            .summary = "nothing but itself",
            .parameters = {integer_parameter("repeat", "unused", {.initial = 1, .smallest = 1, .largest = 3})}};
  }
  explicit SelfOnly(const Settings&) {}
  SelfOnly() = default;
  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    builder.add_relation("self");
    builder.add_rule([](std::int32_t token, InEdges& in) { in.add(token, 0); });
    return builder.build();
  }
  std::int64_t num_relations(std::int64_t) const override { return 1; }
};

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(GeneratorRegistry, MakesWhatWasAdded) {
  GeneratorRegistry registry;
  registry.add("mine", [](const json&) { return std::make_unique<SelfOnly>(); });
  registry.add<SelfOnly>();
  EXPECT_EQ(registry.make("mine")->build({.length = 3}).graph.num_edges(), 3);
  EXPECT_EQ(registry.make("self_only", {{"repeat", 2}})->num_relations(9), 1);
  EXPECT_THAT(error_of([&] { registry.make("self_only", {{"repeat", 4}}); }), HasSubstr("[self_only] repeat must be"));
  ASSERT_EQ(registry.list().size(), 2u);
  EXPECT_EQ(registry.list()[1].summary, "nothing but itself");
  EXPECT_TRUE(registry.contains("mine"));
  EXPECT_FALSE(registry.contains("bpt"));
}

TEST(GeneratorRegistry, RefusesANameThatIsTaken) {
  GeneratorRegistry registry = generators();
  EXPECT_THAT(error_of([&] { registry.add("bpt", [](const json&) { return std::make_unique<SelfOnly>(); }); }),
              HasSubstr("there is already a generator called 'bpt' (built in)"));
  registry.add("mine", [](const json&) { return std::make_unique<SelfOnly>(); });
  EXPECT_THAT(error_of([&] { registry.add("mine", [](const json&) { return std::make_unique<SelfOnly>(); }); }),
              HasSubstr("there is already a generator called 'mine' (this program)"));
  EXPECT_THROW(registry.add("", [](const json&) { return std::make_unique<SelfOnly>(); }), ConfigError);
  EXPECT_THROW(registry.add("nothing", GeneratorFactory()), ConfigError);
}

TEST(GeneratorRegistry, NamesTheNearestAndListsAllWhenOneIsUnknown) {
  EXPECT_THAT(error_of([] { generators().make("widnow"); }),
              AllOf(HasSubstr("did you mean \"window\"?"), HasSubstr("known are adaptive_span, bigbird")));
}

TEST(GeneratorRegistry, CopiesAreIndependent) {
  GeneratorRegistry copy = generators();
  copy.add<SelfOnly>();
  EXPECT_FALSE(generators().contains("self_only"));
  EXPECT_EQ(copy.list().size(), generators().list().size() + 1);
}

TEST(GeneratorRegistry, MakesFromAWholeSpecification) {
  EXPECT_EQ(generators().make({{"kind", "bpt"}, {"k", 2}})->num_relations(1), 7);
  EXPECT_EQ(generators().make("bpt", {{"kind", "bpt"}, {"k", 2}})->num_relations(1), 7);
  EXPECT_THAT(error_of([] { generators().make("bpt", {{"kind", "full"}}); }), HasSubstr("kind is \"full\""));
  EXPECT_THAT(error_of([] { generators().make({{"k", 2}}); }), HasSubstr("needs a \"kind\""));
  EXPECT_THAT(error_of([] { generators().make({{"kind", 3}}); }), HasSubstr("kind must be the name"));
  EXPECT_THAT(error_of([] { generators().make(json(3)); }), HasSubstr("not 3"));
  EXPECT_THAT(error_of([] { generators().make("bpt", json::array({1})); }), HasSubstr("must be a JSON object"));
}

TEST(GeneratorRegistry, RefusesAnotherVersionOfTheInterface) {
  GeneratorRegistry registry;
  EXPECT_THAT(error_of([&] { registry.add<99>("mine", [](const json&) { return std::make_unique<SelfOnly>(); }); }),
              HasSubstr("version 99 of the generator interface"));
  EXPECT_TRUE(registry.list().empty());
}

TEST(GeneratorRegistry, RefusesAFactoryThatReturnsNothing) {
  GeneratorRegistry registry;
  registry.add("empty", [](const json&) { return std::unique_ptr<GraphGenerator>(); });
  EXPECT_THAT(error_of([&] { registry.make("empty"); }), HasSubstr("returned nothing"));
}

TEST(GraphRequest, ReadsGeneratorLengthAndDirection) {
  const GraphRequest request = read_graph_request({{"kind", "window"}, {"width", 2}, {"length", 7}, {"causal", true}});
  EXPECT_EQ(request.options.length, 7);
  EXPECT_TRUE(request.options.causal);
  EXPECT_EQ(request.build().graph.num_edges(), 1 + 2 + 5 * 3);
}

TEST(GraphRequest, RefusesWhatIsWrongInOneSentence) {
  const auto error = [](json specification) { return error_of([&] { read_graph_request(specification); }); };
  EXPECT_THAT(error({{"kind", "bpt"}}), HasSubstr("length is missing"));
  EXPECT_THAT(error({{"kind", "bpt"}, {"length", 0}}),
              HasSubstr("length must be a whole number from 1 to 33554432, not 0"));
  EXPECT_THAT(error({{"kind", "bpt"}, {"length", 3e9}}), HasSubstr("not 3000000000.0"));
  EXPECT_THAT(error({{"kind", "bpt"}, {"length", std::numeric_limits<double>::quiet_NaN()}}),
              HasSubstr("length must be"));
  EXPECT_THAT(error({{"kind", "bpt"}, {"length", 8}, {"causal", "yes"}}), HasSubstr("causal must be true or false"));
  EXPECT_THAT(error({{"kind", "bpt"}, {"length", 8}, {"k", 0}}),
              HasSubstr("k must be a whole number from 1 to 65536, not 0"));
  EXPECT_THAT(error({{"kind", "window"}, {"length", 8}, {"width", -1}}), HasSubstr("width must be"));
  EXPECT_THAT(error({{"kind", "bpt"}, {"length", 8}, {"kk", 0}}), HasSubstr("did you mean \"k\"?"));
  EXPECT_THAT(error(json::array()), HasSubstr("a graph is an object"));
}

TEST(GraphRequest, RefusesPatternsNestedWithoutEnd) {
  json nested = {{"kind", "bpt"}};
  for (int i = 0; i < 20'000; ++i) nested = {{"kind", "union"}, {"of", json::array({std::move(nested)})}};
  nested["length"] = 4;
  EXPECT_THAT(error_of([&] { read_graph_request(nested); }), HasSubstr("nest deeper"));
}

}  // namespace
}  // namespace bough
