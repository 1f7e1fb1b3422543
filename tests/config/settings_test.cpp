#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "bough/core/config.h"
#include "bough/core/errors.h"

namespace bough {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

ParameterTable example() {
  return {
      integer_parameter("width", "tokens on each side", {.initial = 8, .smallest = 1, .largest = 100}),
      integer_parameter("clip", "levels"),
      integer_parameter("seed", "of the random choice", {.required = true}),
      number_parameter("rate", "how fast", {.initial = 0.5, .minimum = 0, .maximum = 1}),
      boolean_parameter("loud", "says more"),
      string_parameter("path", "a file", "here"),
      choice_parameter("rule", "which", {"pair", "slot"}),
      list_parameter("sizes", "of each", integer_parameter("", "", {.smallest = 1})),
      object_parameter(
          "inner", "nested",
          {integer_parameter("depth", "how deep", {.initial = 2, .largest = 9}), boolean_parameter("on", "")}),
      object_parameter("any", "whatever"),
  };
}

std::string error_of(json values) {
  try {
    example().read("thing", values);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Settings, FillsInDefaults) {
  const Settings settings = example().read("thing", {{"seed", 3}});
  EXPECT_EQ(settings.integer("width"), 8);
  EXPECT_FALSE(settings.optional_integer("clip"));
  EXPECT_EQ(settings.integer("seed"), 3);
  EXPECT_EQ(settings.number("rate"), 0.5);
  EXPECT_FALSE(settings.boolean("loud"));
  EXPECT_EQ(settings.string("path"), "here");
  EXPECT_EQ(settings.string("rule"), "pair");
  EXPECT_TRUE(settings.integers("sizes").empty());
  EXPECT_EQ(settings.object("inner").integer("depth"), 2);
  EXPECT_EQ(settings.json("any"), json::object());
}

TEST(Settings, TakesWhatIsGiven) {
  const Settings settings = example().read("thing", {{"seed", 1e3},
                                                     {"width", 100},
                                                     {"clip", 4},
                                                     {"rate", 1},
                                                     {"loud", true},
                                                     {"rule", "slot"},
                                                     {"sizes", {1, 2, 3}},
                                                     {"inner", {{"on", true}}},
                                                     {"any", {{"x", 1}}}});
  EXPECT_EQ(settings.integer("seed"), 1000);
  EXPECT_EQ(settings.optional_integer("clip"), 4);
  EXPECT_EQ(settings.number("rate"), 1.0);
  EXPECT_EQ(settings.string("rule"), "slot");
  EXPECT_EQ(settings.integers("sizes"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_TRUE(settings.object("inner").boolean("on"));
  EXPECT_EQ(settings.json("any"), json({{"x", 1}}));
}

TEST(Settings, NamesTheNearestKeyWhenOneIsUnknown) {
  EXPECT_THAT(error_of({{"seed", 1}, {"widht", 3}}),
              AllOf(HasSubstr("[thing] unknown key \"widht\""), HasSubstr("did you mean \"width\"?")));
  EXPECT_THAT(error_of({{"seed", 1}, {"inner", {{"dept", 3}}}}), HasSubstr("did you mean \"inner.depth\"?"));
  EXPECT_THAT(error_of({{"seed", 1}, {"zzzzzzzz", 3}}), HasSubstr("known keys are width, clip, seed"));
  EXPECT_THAT(error_of({{"seed", 1}, {std::string(8'000'000, 'w'), 3}}), HasSubstr("unknown key"));
}

TEST(Settings, NamesKeyValueAndWhatIsAllowed) {
  EXPECT_THAT(error_of({{"seed", 1}, {"width", 0}}), HasSubstr("width must be a whole number from 1 to 100, not 0"));
  EXPECT_THAT(error_of({{"seed", 1}, {"width", -1}}), HasSubstr("not -1"));
  EXPECT_THAT(error_of({{"seed", 1}, {"width", 3e9}}), HasSubstr("not 3000000000.0"));
  EXPECT_THAT(error_of({{"seed", 1}, {"width", 2.5}}), HasSubstr("not 2.5"));
  EXPECT_THAT(error_of({{"seed", 1}, {"width", "4"}}), HasSubstr("not \"4\""));
  EXPECT_THAT(error_of({{"seed", 1}, {"width", nullptr}}), HasSubstr("not null"));
  EXPECT_THAT(error_of({{"seed", 18446744073709551615u}}),
              HasSubstr("not 18446744073709551615; the largest is 2147483647"));
  EXPECT_THAT(error_of({{"seed", 1}, {"rate", 1.5}}), HasSubstr("rate must be a number from 0 to 1, not 1.5"));
  EXPECT_THAT(error_of({{"seed", 1}, {"rate", std::numeric_limits<double>::quiet_NaN()}}), HasSubstr("rate must be"));
  EXPECT_THAT(error_of({{"seed", std::numeric_limits<double>::quiet_NaN()}}), HasSubstr("seed must be"));
  EXPECT_THAT(error_of({{"seed", 1}, {"loud", 1}}), HasSubstr("loud must be true or false, not 1"));
  EXPECT_THAT(error_of({{"seed", 1}, {"rule", "pairs"}}),
              AllOf(HasSubstr("rule must be one of \"pair\", \"slot\", not \"pairs\""), HasSubstr("\"pair\"?")));
  EXPECT_THAT(error_of({{"seed", 1}, {"sizes", {1, 0}}}), HasSubstr("sizes[1] must be"));
  EXPECT_THAT(error_of({{"seed", 1}, {"sizes", 3}}), HasSubstr("sizes must be a list"));
  EXPECT_THAT(error_of({{"seed", 1}, {"inner", {{"depth", 10}}}}), HasSubstr("inner.depth must be"));
  EXPECT_THAT(error_of({{"seed", 1}, {"inner", 4}}), HasSubstr("inner must be an object"));
}

TEST(Settings, SaysWhatIsMissing) {
  EXPECT_THAT(error_of(json::object()), HasSubstr("seed is missing: it must be a whole number of at least 0"));
  EXPECT_THAT(error_of(json::array()), HasSubstr("must be a JSON object, not a list of 0 values"));
}

TEST(Settings, AskingForWhatIsNotThereIsAnErrorOfTheProgram) {
  const Settings settings = example().read("thing", {{"seed", 3}});
  EXPECT_THROW(settings.integer("wide"), ConfigError);
  EXPECT_THROW(settings.integer("path"), ConfigError);
  EXPECT_THROW(settings.integer("clip"), ConfigError);
}

TEST(ParameterTable, RefusesNamesTwiceAndDefaultsOutOfRange) {
  EXPECT_THROW(ParameterTable({integer_parameter("a", ""), boolean_parameter("a", "")}), ConfigError);
  EXPECT_THROW(ParameterTable({integer_parameter("a", "", {.initial = 0, .smallest = 1})}), ConfigError);
}

TEST(ParameterTable, DescribesItselfForPeopleAndPrograms) {
  const std::string text = example().help();
  EXPECT_THAT(text, HasSubstr("tokens on each side (a whole number from 1 to 100, default 8)"));
  EXPECT_THAT(text, HasSubstr("required"));
  const json list = example().to_json();
  ASSERT_EQ(list.size(), 10u);
  EXPECT_EQ(list[0]["name"], "width");
  EXPECT_EQ(list[0]["type"], "integer");
  EXPECT_EQ(list[0]["default"], 8);
  EXPECT_EQ(list[0]["minimum"], 1);
  EXPECT_EQ(list[2]["required"], true);
  EXPECT_EQ(list[6]["choices"], json({"pair", "slot"}));
  EXPECT_EQ(list[8]["parameters"][0]["name"], "depth");
}

}  // namespace
}  // namespace bough
