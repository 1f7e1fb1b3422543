#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

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

TEST(PluginOption, AnswersALibraryThatIsNotThere) {
  const ProgramResult result = run_bough({"graph", R"({"kind":"bpt","length":3})", "--plugin", "no/such.so"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("there is no file 'no/such.so'"));
}

}  // namespace
}  // namespace bough::test
