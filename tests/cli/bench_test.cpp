#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"

namespace bough::test {
namespace {

using ::testing::HasSubstr;

TEST(Bench, WithoutANameListsTheBenchmarks) {
  const ProgramResult result = run_bough({"bench"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("allocation "));
}

TEST(Bench, AnUnknownNameIsAUsageErrorThatListsTheKnownOnes) {
  const ProgramResult result = run_bough({"bench", "alocation"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("there is no benchmark 'alocation', did you mean 'allocation'?; known are"));
}

TEST(Bench, JsonLinesHoldTheRatioToTheNamedPeer) {
  const ProgramResult result = run_bough({"bench", "allocation", "--json", "--repeats", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  std::istringstream lines(result.output);
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    const nlohmann::json object = nlohmann::json::parse(line);
    EXPECT_EQ(object.at("name"), "allocation");
    EXPECT_FALSE(object.at("case").get<std::string>().empty());
    EXPECT_EQ(object.at("peer"), "aligned_alloc");
    const double ours = object.at("milliseconds"), peer = object.at("peer_milliseconds");
    EXPECT_DOUBLE_EQ(object.at("ratio").get<double>(), peer / ours);
    ++count;
  }
  EXPECT_EQ(count, 3);
}

TEST(Bench, TheTableHasOneRowPerCase) {
  const ProgramResult result = run_bough({"bench", "allocation", "--repeats", "1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 3);
  EXPECT_THAT(result.output, HasSubstr("4KiB"));
  EXPECT_THAT(result.output, HasSubstr("aligned_alloc"));
}

TEST(Bench, OnlyCasesThatBeginWithThePrefixAreReported) {
  const ProgramResult result = run_bough({"bench", "allocation", "--repeats", "1", "--only", "4KiB"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 1);
  EXPECT_THAT(result.output, HasSubstr("4KiB"));
}

TEST(Bench, TheTokenizerTellsHowMuchItCutsASecond) {
  const ProgramResult result =
      run_bough({"bench", "tokenizer", "--json", "--repeats", "1", "--only", "English, capitals kept"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const nlohmann::json line = nlohmann::json::parse(result.output);
  EXPECT_EQ(line.at("peer"), "ICU word breaks");
  EXPECT_THAT(line.at("note").get<std::string>(), HasSubstr(" MB/s"));
  EXPECT_GE(line.at("bytes").get<double>(), 8e6);
  EXPECT_GT(line.at("tokens").get<double>(), line.at("peer_words").get<double>()) << "those of ICU are without marks";
}

TEST(Bench, AttentionOnAGpuIsBoundedButNotMeasured) {
  const ProgramResult result = run_bough(
      {"bench", "attention", "--device", "cuda", "--model", "A100", "--json", "--only", "full n=512 forward"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const nlohmann::json line = nlohmann::json::parse(result.output);
  // 32 tiles of 16 destinations, the first with 16 sources, each with 16 more than the one before.
  const double products = 16 * 16 * (32.0 * 33 / 2), heads = 8, features = 64;
  EXPECT_DOUBLE_EQ(line.at("operations").get<double>(), products * heads * 4 * features);
  EXPECT_THAT(line.at("note").get<std::string>(), HasSubstr("not measured"));
  EXPECT_GT(line.at("milliseconds").get<double>(), 0);
}

TEST(Bench, AttentionOfBfloat16MovesLessOnAGpu) {
  const auto least_bytes = [](const char* type) {
    const ProgramResult result = run_bough({"bench", "attention", "--device", "cuda", "--model", "A100", "--json",
                                            "--only", std::string("full n=512 ") + type + "forward, tiles on A100"});
    return nlohmann::json::parse(result.output).at("least_bytes").get<double>();
  };
  const double columns = 16 * (32.0 * 33 / 2), plan_bytes = 16 * columns;
  EXPECT_DOUBLE_EQ(least_bytes("bfloat16 ") - plan_bytes, (least_bytes("") - plan_bytes) / 2);
}

TEST(Bench, AnUnknownModelOfGpuNamesTheKnownOnes) {
  const ProgramResult unknown = run_bough({"bench", "attention", "--device", "cuda", "--model", "Z1"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("known are A100, H100"));
  const ProgramResult without = run_bough({"bench", "gemm", "--device", "cuda", "--model", "A100"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.errors, HasSubstr("'gemm' does not measure on GPUs"));
}

TEST(Bench, AttentionTellsHowMuchOfTheArithmeticItReachesAndItsMemory) {
  const ProgramResult result =
      run_bough({"bench", "attention", "--json", "--repeats", "1", "--only", "full n=512 forward+backward"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const nlohmann::json line = nlohmann::json::parse(result.output.substr(0, result.output.find('\n')));
  EXPECT_EQ(line.at("peer"), "arithmetic bound");
  EXPECT_EQ(line.at("edges"), 512 * 513 / 2);
  EXPECT_GT(line.at("extra_bytes").get<double>(), 0);
  EXPECT_GT(line.at("peak_gflops").get<double>(), 0);
}

TEST(Bench, RepeatsMustBePositive) {
  EXPECT_EQ(run_bough({"bench", "allocation", "--repeats", "0"}).exit_code, 2);
  EXPECT_EQ(run_bough({"bench", "allocation", "--repeats", "many"}).exit_code, 2);
}

}  // namespace
}  // namespace bough::test
