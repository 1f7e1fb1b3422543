#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(PluginOption, AddsPatternsToTheGraphCommand) {
  const std::string specification = R"({"kind":"every_second","length":3})";
  const ProgramResult result = run_bough({"graph", specification, "--plugin", GOOD_PLUGIN, "--edges"});
  EXPECT_EQ(result.output,
            "{\"num_nodes\":3,\"num_tokens\":3,\"root\":null,\"edges\":[[0,0,0],[1,1,0],[0,2,1],[2,2,0]]}\n")
      << result.errors;
  EXPECT_EQ(run_bough({"graph", specification}).exit_code, 2);
}

TEST(PluginOption, AddsPatternsToTheList) {
  for (const json& entry : json::parse(run_bough({"generators", "--json", "--plugin", GOOD_PLUGIN}).output)) {
    EXPECT_EQ(entry["origin"] == "built in", entry["name"] != "every_second");
  }
  EXPECT_THAT(run_bough({"generators", "--plugin", GOOD_PLUGIN}).output,
              HasSubstr("every_second: itself and two before"));
}

TEST(PluginOption, APatternOfAPluginIsComparedLikeAnyOther) {
  const TemporaryFolder folder;
  const json experiment = {
      {"task",
       {{"corpus",
         {{"kind", "turn_taking"}, {"train_characters", 3000}, {"valid_characters", 300}, {"test_characters", 500}}},
        {"length", 32}}},
      {"model", {{"layers", 1}, {"dim", 16}, {"heads", 2}, {"ffn", 16}}},
      {"train", {{"steps", 2}, {"tokens_per_batch", 64}}},
      {"sweep", {{"graph", {{{"kind", "every_second"}}, {{"kind", "window"}, {"width", 1}}}}}}};
  const ProgramResult run =
      run_bough({"run", experiment.dump(), "--plugin", GOOD_PLUGIN, "--out", folder.file("out"), "--jobs", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("At about the same degree:\n"));
  EXPECT_THAT(run.output, testing::ContainsRegex("every_second \\(degree 1.9\\).*window-width1 \\(degree 2.0\\)|"
                                                 "window-width1 \\(degree 2.0\\).*every_second \\(degree 1.9\\)"));
  EXPECT_THAT(run.output, testing::Not(HasSubstr("No two patterns")));
}

TEST(PluginOption, AnswersALibraryThatIsNotThere) {
  const ProgramResult result = run_bough({"graph", R"({"kind":"bpt","length":3})", "--plugin", "no/such.so"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("there is no file 'no/such.so'"));
}

}  // namespace
}  // namespace bough::test
