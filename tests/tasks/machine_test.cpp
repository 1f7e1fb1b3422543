#include "tasks/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "bough/core/version.h"
#include "tasks/data/sentencepiece.h"

namespace bough {
namespace {

constexpr pid_t no_process = -1;

/// Processor seconds of this process and its children, as the difference between all that is used and what others use.
/// The two are read one after the other, so that it may be off by what happens in between.
double own_seconds() {
  const auto all = machine_time(no_process), others = machine_time(::getpid());
  return all && others ? all->other_seconds - others->other_seconds : 0;
}

TEST(MachineTime, CountsWhatThisProcessAndItsChildrenUseAsItsOwn) {
  ASSERT_TRUE(machine_time(::getpid()));
  const double before = own_seconds(), all_before = machine_time(no_process)->all_seconds;
  const pid_t child = ::fork();
  if (child == 0) {
    for (std::atomic<int> i = 0; true; ++i) {
    }
  }
  // Comes true when the child has had so much time, however busy the machine is.
  while (own_seconds() < before + 0.5) ::usleep(10'000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  bool stays = false;
  for (int attempt = 0; attempt < 20 && !stays; ++attempt) stays = own_seconds() > before + 0.25;
  EXPECT_TRUE(stays) << "the time of a child that has ended";
  EXPECT_GT(machine_time(no_process)->all_seconds, all_before);
}

TEST(MachineTime, IsAShareOfAllProcessors) {
  EXPECT_EQ((MachineTime{.all_seconds = 8, .other_seconds = 2}.other_share()), 0.25);
  EXPECT_EQ(MachineTime{}.other_share(), 0);
}

TEST(Host, NamesCommitAndLibraries) {
  const nlohmann::json host = describe_host();
  EXPECT_EQ(host["commit"], std::string(build_commit));
  EXPECT_THAT(host["commit"].get<std::string>(), ::testing::MatchesRegex("unknown|[0-9a-f]+(\\+changes)?"));
  EXPECT_EQ(host["libraries"], library_versions());
}

TEST(Host, NamesTheVersionsOfLibrariesThatABuildMayLack) {
  const nlohmann::json libraries = library_versions();
  for (const auto& [name, version] : libraries.items()) {
    EXPECT_THAT(version.get<std::string>(), ::testing::MatchesRegex("[0-9]+(\\.[0-9]+)+|unknown")) << name;
  }
  EXPECT_TRUE(libraries.contains("ICU"));
  EXPECT_EQ(libraries.contains("SentencePiece"), has_sentencepiece());
  EXPECT_EQ(libraries.contains("CUDA"), build_information().has_cuda);
  EXPECT_TRUE(build_information().has_cuda || !libraries.contains("cuBLAS"));
}

}  // namespace
}  // namespace bough
