// What a registry makes of generators that do not do what they promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bough/core/errors.h"
#include "bough/graph/attention_graph_builder.h"
#include "bough/graph/batch.h"
#include "tests/support/errors.h"

namespace bough {
namespace {

using nlohmann::json;
using test::error_message;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

/// A generator from functions.
struct Parts {
  std::function<AttentionGraph(const BuildOptions&)> build = {};
  std::int64_t relations = 1;
  bool causal = true;
};

class Assembled final : public GraphGenerator {
 public:
  explicit Assembled(Parts parts) : parts_(std::move(parts)) {}
  AttentionGraph build(const BuildOptions& options) const override { return parts_.build(options); }
  std::int64_t num_relations(std::int64_t) const override { return parts_.relations; }
  bool supports_causal() const override { return parts_.causal; }

 private:
  Parts parts_;
};

std::unique_ptr<GraphGenerator> registered(const Parts& parts, const std::string& origin = "built in") {
  GeneratorRegistry registry;
  registry.set_origin(origin);
  registry.add("mine", [parts](const json&) { return std::make_unique<Assembled>(parts); });
  return registry.make("mine");
}

/// Every token attends to itself, with the first of some relations.
AttentionGraph self_edges(const BuildOptions& options, int relations = 1) {
  AttentionGraphBuilder builder(options);
  for (int i = 0; i < relations; ++i) builder.add_relation(std::to_string(i));
  builder.add_rule([](std::int32_t token, InEdges& in) { in.add(token, 0); });
  return builder.build();
}

AttentionGraph with_rule(const BuildOptions& options, const InEdgeRule& rule) {
  AttentionGraphBuilder builder(options);
  builder.add_relation("self");
  builder.add_rule(rule);
  return builder.build();
}

constexpr BuildOptions causal_8() { return {.length = 8, .causal = true}; }

TEST(CheckedGenerator, RefusesAGraphThatIsNotCausalWhereOneWasAskedFor) {
  const Parts forgetful{[](const BuildOptions& options) { return self_edges({.length = options.length}); }};
  const std::string message =
      "was asked for a causal graph and built one that is not; hand the options to AttentionGraphBuilder";
  const auto generator = registered(forgetful);
  EXPECT_EQ(error_message<GraphError>([&] { generator->build(causal_8()); }), "[mine] " + message);
  EXPECT_NO_THROW(generator->build({.length = 8}));
  const std::array<std::int64_t, 2> lengths{3, 4};
  EXPECT_THAT(error_message<GraphError>([&] { build_batch(Assembled(forgetful), lengths, true); }), HasSubstr(message));
  EXPECT_THAT(error_message<GraphError>([&] { build_checked(Assembled(forgetful), causal_8()); }), HasSubstr(message));
}

TEST(CheckedGenerator, LooksAtTheEdgesOfAGraphThatCallsItselfCausal) {
  const auto generator = registered({[](const BuildOptions& options) {
    AttentionGraph graph = with_rule({.length = options.length}, [](std::int32_t, InEdges& in) { in.add(7, 0); });
    graph.causal = true;
    return graph;
  }});
  EXPECT_THAT(error_message<GraphError>([&] { generator->build(causal_8()); }),
              AllOf(HasSubstr("[mine] could not build a causal graph of 8 tokens: "), HasSubstr("cannot attend to")));
}

TEST(CheckedGenerator, RefusesAnotherLength) {
  const auto generator = registered({[](BuildOptions options) {
    options.length -= 1;
    return self_edges(options);
  }});
  EXPECT_EQ(error_message<GraphError>([&] { generator->build({.length = 8}); }),
            "[mine] was asked for a graph of 8 tokens and built one of 7");
}

TEST(CheckedGenerator, RefusesMoreRelationsThanAnnouncedAndNegativeNumbers) {
  const auto build = [](const BuildOptions& options) { return self_edges(options, 3); };
  EXPECT_EQ(error_message<GraphError>([&] {
              registered({build, 1})->build({.length = 64});
            }),
            "[mine] num_relations(64) is 1, but its graph of 64 tokens has 3 relations");
  EXPECT_NO_THROW(registered({build, 50})->build({.length = 64}));
  EXPECT_THAT(error_message<GraphError>([&] {
                registered({build, -4})->num_relations(64);
              }),
              HasSubstr("[mine] num_relations(64) is -4"));
}

TEST(CheckedGenerator, RefusesAGraphWhosePartsDoNotFit) {
  const auto generator = registered({[](const BuildOptions&) { return AttentionGraph(); }});
  EXPECT_THAT(error_message<GraphError>([&] { generator->build({.length = 8}); }),
              HasSubstr("[mine] could not build a graph of 8 tokens: "));
}

TEST(CheckedGenerator, NamesThePatternWhateverItsCodeThrows) {
  const auto message = [](const std::function<AttentionGraph(const BuildOptions&)>& build) {
    const auto generator = registered({build}, "/lib/mine.so");
    return error_message<GraphError>([&] { generator->build(causal_8()); });
  };
  const std::string start = "[mine] could not build a causal graph of 8 tokens: ", library = " (plug-in /lib/mine.so)";
  EXPECT_EQ(message([](const BuildOptions&) -> AttentionGraph { throw std::runtime_error("my own trouble"); }),
            start + "my own trouble" + library);
  EXPECT_EQ(message([](const BuildOptions&) -> AttentionGraph { throw 42; }),
            start + "it threw something that is no std::exception" + library);
  EXPECT_EQ(message([](const BuildOptions& options) {
              return with_rule(options, [](std::int32_t, InEdges&) { throw std::out_of_range("vector::at"); });
            }),
            start + "vector::at" + library);
  EXPECT_THAT(message([](const BuildOptions& options) {
                return with_rule(options, [](std::int32_t token, InEdges& in) { in.add(token, 7); });
              }),
              AllOf(HasSubstr(start), HasSubstr("relation 7"), EndsWith(library)));
  EXPECT_EQ(message([](const BuildOptions&) -> AttentionGraph { throw GraphError("elsewhere", "says it all"); }),
            "[elsewhere] says it all");
}

TEST(CheckedGenerator, NamesThePatternThatCannotBeMade) {
  GeneratorRegistry registry;
  registry.set_origin("/lib/mine.so");
  registry.add("invalid", [](const json&) -> std::unique_ptr<GraphGenerator> { throw std::invalid_argument("no"); });
  registry.add("number", [](const json&) -> std::unique_ptr<GraphGenerator> { throw 3; });
  registry.add("nothing", [](const json&) -> std::unique_ptr<GraphGenerator> { return nullptr; });
  EXPECT_EQ(error_message<ConfigError>([&] { registry.make("invalid"); }),
            "[invalid] could not be made: no (plug-in /lib/mine.so)");
  EXPECT_THAT(error_message<ConfigError>([&] { registry.make("number"); }), HasSubstr("[number] could not be made"));
  EXPECT_THAT(error_message<ConfigError>([&] { registry.make("nothing"); }), HasSubstr("returned nothing"));
}

TEST(CheckedGenerator, RefusesCausalUseIfEitherFlagSaysSo) {
  const auto build = [](const BuildOptions& options) { return self_edges(options); };
  const auto message = [](const GraphGenerator& generator) {
    EXPECT_FALSE(generator.supports_causal());
    EXPECT_THROW(generator.attention_degree(causal_8()), ConfigError);
    return error_message<ConfigError>([&] { generator.build(causal_8()); });
  };
  EXPECT_THAT(message(*registered({build, 1, false})),
              AllOf(HasSubstr("[mine] has no causal form"), HasSubstr(R"({"kind": "causal", "of": {"kind": "mine")")));
  GeneratorRegistry registry;
  registry.add({.name = "described", .summary = "", .causal = false},
               CheckedFactory([build](const Settings&) { return std::make_unique<Assembled>(Parts{build}); }));
  EXPECT_THAT(message(*registry.make("described")), HasSubstr("[described] has no causal form"));
}

TEST(CheckedGenerator, AllowsNamesThatFitJsonFilesAndLists) {
  const auto add = [](const std::string& name, const ParameterTable& parameters) {
    GeneratorRegistry registry;
    registry.add({.name = name, .summary = "", .parameters = parameters},
                 CheckedFactory([](const Settings&) { return std::make_unique<Assembled>(Parts{}); }));
  };
  for (const std::string name : {"my pattern", "a/b", "a:b", "a,b", "a=b", "..", "-x", "", "a\n"}) {
    EXPECT_THROW(add(name, {}), ConfigError) << name;
  }
  for (const std::string name : {"my_pattern", "v2.1", "a-b", "_x", "7"}) EXPECT_NO_THROW(add(name, {})) << name;
  for (const std::string parameter : {"kind", "length", "causal"}) {
    EXPECT_THAT(error_message<ConfigError>([&] { add("mine", {integer_parameter(parameter, "")}); }),
                HasSubstr("'mine' cannot have a parameter called '" + parameter + "'"));
  }
}

}  // namespace
}  // namespace bough
