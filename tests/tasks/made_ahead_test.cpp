#include "tasks/texts/made_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "bough/core/errors.h"
#include "tests/support/errors.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace std::chrono_literals;

TEST(MadeAhead, GivesEachValueOnceInWhateverOrderTheyAreTaken) {
  for (const int threads : {1, 2}) {
    const test::ThreadCount count(threads);
    std::atomic<int> made = 0;
    MadeAhead<int, int> ahead([&made](int key) {
      ++made;
      return key * key;
    });
    for (const int key : {3, 1, 3}) ahead.begin(key);
    EXPECT_EQ(ahead.take(1), 1);
    EXPECT_EQ(ahead.take(2), 4) << "was not begun";
    EXPECT_EQ(ahead.take(3), 9);
    EXPECT_EQ(made, 3);
    EXPECT_EQ(ahead.take(3), 9) << "is made anew";
    EXPECT_EQ(made, 4);
  }
}

/// What is made waits for the caller, which would never come if it waited for what is made.
TEST(MadeAhead, MakesOnAnotherThreadWhileTheCallerGoesOn) {
  const test::ThreadCount count(2);
  std::promise<void> caller_went_on;
  std::future<void> signal = caller_went_on.get_future();
  MadeAhead<int, std::thread::id> ahead([&signal](int) {
    EXPECT_EQ(signal.wait_for(20s), std::future_status::ready);
    return std::this_thread::get_id();
  });
  ahead.begin(1);
  caller_went_on.set_value();
  EXPECT_NE(ahead.take(1), std::this_thread::get_id());
}

TEST(MadeAhead, MakesNothingAheadWithOneThreadToComputeWith) {
  const test::ThreadCount count(1);
  bool made = false;
  MadeAhead<int, std::thread::id> ahead([&made](int) {
    made = true;
    return std::this_thread::get_id();
  });
  ahead.begin(1);
  EXPECT_FALSE(made);
  EXPECT_EQ(ahead.take(1), std::this_thread::get_id());
}

TEST(MadeAhead, ThrowsWhatTheMakerThrewWhereTheValueIsTaken) {
  for (const int threads : {1, 2}) {
    const test::ThreadCount count(threads);
    MadeAhead<int, int> ahead([](int key) {
      if (key == 2) throw ConfigError("maker", "there is no second one");
      return key;
    });
    ahead.begin(2);
    ahead.begin(3);
    EXPECT_EQ(test::error_message<ConfigError>([&] { ahead.take(2); }), "[maker] there is no second one");
    EXPECT_EQ(ahead.take(3), 3) << "the others come as ever";
    ahead.begin(2);  // never taken: its error goes with it
  }
}

TEST(MadeAhead, WaitsAtItsEndForWhatIsBeingMade) {
  const test::ThreadCount count(2);
  std::promise<void> started;
  std::atomic<bool> done = false;
  {
    MadeAhead<int, int> ahead([&](int key) {
      started.set_value();
      std::this_thread::sleep_for(50ms);
      done = true;
      return key;
    });
    ahead.begin(1);
    started.get_future().wait();
    EXPECT_FALSE(done);
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace bough
