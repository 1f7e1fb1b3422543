#include "bough/core/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(Version, NamesVersionCommitCompilerLibrariesInstructionSetThreadsAndCuda) {
  const ProgramResult result = run_bough({"version", "--threads", "2"});
  const BuildInformation build = build_information();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("bough " + build.version + "\n"));
  EXPECT_THAT(result.output, HasSubstr(build.compiler + ", " + build.build_type + "\n"));
  EXPECT_THAT(result.output, HasSubstr("instruction set  " + build.instruction_set + "\n"));
  EXPECT_THAT(result.output, HasSubstr("commit           "));
  EXPECT_THAT(result.output, HasSubstr("oneTBB "));
  EXPECT_THAT(build.instruction_set, Not(HasSubstr("AVX3"))) << "the field says AVX-512";
  EXPECT_THAT(result.output, HasSubstr("threads          2\n"));
  EXPECT_THAT(result.output, HasSubstr(build.has_cuda ? "built in, " : "not in this build"));
  EXPECT_THAT(result.output, HasSubstr(BOUGH_HAS_SENTENCEPIECE ? "SentencePiece    built in\n"
                                                               : "SentencePiece    not in this build\n"));
  EXPECT_EQ(result.errors, "");
}

TEST(TraceKernels, WritesAFileAndATable) {
  const TemporaryFolder folder;
  const ProgramResult result = run_bough({"version", "--trace-kernels", folder.file("kernels.jsonl")});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "no kernel was launched on a GPU\n");
  EXPECT_EQ(file_content(folder.file("kernels.jsonl")), "");
  const ProgramResult nowhere = run_bough({"version", "--trace-kernels", folder.file("not/there")});
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_THAT(nowhere.errors, HasSubstr("not/there"));
}

TEST(Version, SaysTheSameInJson) {
  const ProgramResult result = run_bough({"version", "--json", "--threads", "2"});
  const BuildInformation build = build_information();
  nlohmann::json given = nlohmann::json::parse(result.output);
  EXPECT_THAT(given["commit"].get<std::string>(), MatchesRegex("unknown|[0-9a-f]{12}(\\+changes)?"));
  for (const char* library : {"oneTBB", "Highway", "fmt", "nlohmann-json", "zlib"}) {
    EXPECT_THAT(given["libraries"].value(library, ""), MatchesRegex("[0-9]+\\.[0-9.]+")) << library;
  }
  given.erase("commit");
  given.erase("libraries");
  const nlohmann::json expected = {{"version", build.version},
                                   {"compiler", build.compiler},
                                   {"build_type", build.build_type},
                                   {"instruction_set", build.instruction_set},
                                   {"threads", 2},
                                   {"cuda", build.has_cuda},
                                   {"cuda_devices", build.cuda_devices},
                                   {"sentencepiece", static_cast<bool>(BOUGH_HAS_SENTENCEPIECE)}};
  EXPECT_EQ(given, expected);
}

TEST(Version, IsThatOfTheProject) { EXPECT_EQ(build_information().version, BOUGH_PROJECT_VERSION); }

TEST(Version, ABuildWithoutCudaHasNoDevices) {
  const BuildInformation build = build_information();
  EXPECT_TRUE(build.has_cuda || build.cuda_devices == 0) << build.cuda_devices;
}

TEST(Version, IsAlsoAnOption) {
  const ProgramResult result = run_bough({"--version"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, "bough " BOUGH_PROJECT_VERSION "\n");
}

}  // namespace
}  // namespace bough::test
