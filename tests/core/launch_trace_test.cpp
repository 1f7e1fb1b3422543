#include "bough/core/launch_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "bough/core/errors.h"
#include "bough/detail/launch_observer.h"

namespace bough {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// A backend whose kernels take 2 ms and 40 registers.
struct Probe {
  static std::optional<KernelResources> resources() {
    return KernelResources{.registers = 40, .local_bytes = 8, .blocks_per_multiprocessor = 6, .occupancy = 0.75};
  }
  template <typename Start>
  static double milliseconds(const Start& start) {
    start();
    return 2;
  }
};

TEST(LaunchTrace, TellsOfEveryLaunchWhileItLives) {
  int started = 0;
  std::vector<KernelLaunch> told;
  const auto launch = [&](const char* kernel) {
    observed_launch({.kernel = kernel, .device = Device::cuda(1), .blocks = 3, .block_size = 64}, Probe{},
                    [&] { ++started; });
  };
  launch("before");
  EXPECT_FALSE(LaunchTrace::active());
  {
    const LaunchTrace trace([&](const KernelLaunch& seen) { told.push_back(seen); });
    EXPECT_TRUE(LaunchTrace::active());
    launch("during");
    EXPECT_THROW(LaunchTrace([](const KernelLaunch&) {}), ConfigError);
  }
  launch("after");
  EXPECT_EQ(started, 3) << "launches happen with and without a trace";
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(to_string(told[0]), "during on cuda:1, 3 blocks of 64 threads with 0 bytes of shared memory each");
  EXPECT_FALSE(told[0].milliseconds.has_value());
  EXPECT_FALSE(told[0].resources.has_value());
}

TEST(LaunchTrace, MeasuresWhatIsAskedFor) {
  KernelLaunch told;
  const LaunchTrace trace([&](const KernelLaunch& seen) { told = seen; }, {.timing = true, .resources = true});
  observed_launch({.kernel = "kernel"}, Probe{}, [] {});
  EXPECT_EQ(told.milliseconds, 2);
  EXPECT_EQ(told.resources->registers, 40);
}

TEST(LaunchSummary, ListsTheKernelsThatTookLongestFirst) {
  LaunchSummary summary;
  EXPECT_EQ(summary.table(), "no kernel was launched on a GPU\n");
  summary.add({.kernel = "gspmm", .blocks = 10, .block_size = 128, .milliseconds = 1});
  summary.add({.kernel = "gemm",
               .blocks = 7,
               .block_size = 256,
               .shared_bytes = 4096,
               .milliseconds = 2,
               .resources = Probe::resources()});
  summary.add({.kernel = "gspmm", .blocks = 20, .block_size = 128, .milliseconds = 5});
  const std::string table = summary.table();
  EXPECT_LT(table.find("gspmm"), table.find("gemm"));
  EXPECT_THAT(table, ContainsRegex("gspmm +2 +6.000 +75.0% +20 +128 +0 +- +- +-\n"));
  EXPECT_THAT(table, ContainsRegex("gemm +1 +2.000 +25.0% +7 +256 +4096 +40 +8 +75%\n"));
}

TEST(LaunchSummary, LeavesOutTimesThatWereNotMeasured) {
  LaunchSummary summary;
  summary.add({.kernel = "gspmm", .blocks = 10, .block_size = 128});
  EXPECT_THAT(summary.table(), ContainsRegex("gspmm +1 +- +- +10 +128"));
  EXPECT_THAT(summary.table(), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace bough
