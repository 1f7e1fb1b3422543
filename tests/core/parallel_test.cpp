#include "bough/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bough/core/errors.h"

namespace bough {
namespace {

class ThreadCount : public testing::Test {
 protected:
  ~ThreadCount() override { set_num_threads(before_); }
  const int before_ = num_threads();
};

TEST_F(ThreadCount, EveryElementIsVisitedOnceForAnyCountAndChunk) {
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    for (std::int64_t count : {0, 1, 7, 100, 1000}) {
      for (std::int64_t chunk : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
        std::atomic<std::int64_t> chunks{0};
        parallel_chunks(count, chunk, [&](std::int64_t begin, std::int64_t end) {
          ++chunks;
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        EXPECT_EQ(chunks, num_chunks(count, chunk));
        for (const auto& visit : visits) ASSERT_EQ(visit, 1);
      }
    }
  }
}

TEST_F(ThreadCount, ASingleChunkRunsOnTheCallingThread) {
  set_num_threads(2);
  std::thread::id runner;
  parallel_chunks(10, 10, [&](std::int64_t, std::int64_t) { runner = std::this_thread::get_id(); });
  EXPECT_EQ(runner, std::this_thread::get_id());
}

TEST_F(ThreadCount, MoreThreadsThanCoresReallyRun) {
  set_num_threads(4);
  // Each chunk waits until four threads are inside; with fewer workers this would only end at the deadline.
  std::atomic<int> inside{0};
  std::atomic<bool> all_met{true};
  parallel_chunks(4, 1, [&](std::int64_t, std::int64_t) {
    ++inside;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (inside < 4 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (inside < 4) all_met = false;
  });
  EXPECT_TRUE(all_met);
}

TEST_F(ThreadCount, ExceptionsReachTheCallerAndTheWorkersSurvive) {
  set_num_threads(2);
  EXPECT_THROW(parallel_chunks(100, 1,
                               [](std::int64_t begin, std::int64_t) {
                                 if (begin == 57) throw std::runtime_error("chunk 57");
                               }),
               std::runtime_error);
  std::atomic<int> done{0};
  parallel_chunks(100, 1, [&](std::int64_t, std::int64_t) { ++done; });
  EXPECT_EQ(done, 100);
}

TEST_F(ThreadCount, LoopsNest) {
  set_num_threads(2);
  std::atomic<int> total{0};
  parallel_chunks(
      8, 1, [&](std::int64_t, std::int64_t) { parallel_chunks(8, 1, [&](std::int64_t, std::int64_t) { ++total; }); });
  EXPECT_EQ(total, 64);
}

TEST_F(ThreadCount, AThreadThatWaitsForALoopTakesUpNoChunkOfAnother) {
  set_num_threads(4);
  std::atomic<int> taken_up{0};
  for (int round = 0; round < 20; ++round) {
    parallel_chunks(64, 1, [&](std::int64_t, std::int64_t) {
      thread_local bool waits = false;
      if (waits) ++taken_up;
      waits = true;
      parallel_chunks(8, 1, [](std::int64_t, std::int64_t) { std::this_thread::yield(); });
      waits = false;
    });
  }
  EXPECT_EQ(taken_up, 0);
}

TEST_F(ThreadCount, RefusesNonsense) {
  EXPECT_THROW(set_num_threads(0), ConfigError);
  EXPECT_THROW(set_num_threads(-3), ConfigError);
  EXPECT_THROW(set_num_threads(100000), ConfigError);
}

}  // namespace
}  // namespace bough
