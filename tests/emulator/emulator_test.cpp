#include <gmock/gmock.h>

#include <array>
#include <numeric>
#include <vector>

#include "kernels/emulator/queue.h"
#include "kernels/simt/collective.h"
#include "tests/support/errors.h"

namespace bough::emulator {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr simt::Launch one_warp{.name = "probe", .num_blocks = 1, .block_size = 32};

template <typename Body>
std::string fault_of(const simt::Launch& launch, const Body& body, Order order = Order::ascending) {
  return test::error_message<KernelFault>([&] { Queue(order).launch(launch, body); });
}

template <typename Body>
Traffic traffic_of(const simt::Launch& launch, const Body& body) {
  Queue queue;
  queue.launch(launch, body);
  return queue.traffic();
}

TEST(Emulator, RunsEveryThreadOfEveryBlockOnce) {
  std::vector<int> visits(3 * 64);
  Queue().launch({.name = "count", .num_blocks = 3, .block_size = 64},
                 [&](auto& c) { ++visits[static_cast<std::size_t>(c.block() * c.block_size() + c.thread())]; });
  EXPECT_THAT(visits, Each(1));
}

TEST(Emulator, ALaunchOfNoBlocksDoesNothing) {
  Queue().launch({.name = "nothing", .num_blocks = 0}, [](auto&) { FAIL(); });
}

TEST(Emulator, SumsOverAWarpWithShuffles) {
  std::vector<double> sums(64);
  Queue().launch({.name = "sum", .num_blocks = 1, .block_size = 64},
                 [&](auto& c) { sums[static_cast<std::size_t>(c.thread())] = simt::warp_sum(c, double(c.thread())); });
  EXPECT_THAT(std::span(sums).first(32), Each(31 * 32 / 2));
  EXPECT_THAT(std::span(sums).last(32), Each(31 * 32 / 2 + 32 * 32));
}

TEST(Emulator, SumsOverPartsOfAWarp) {
  std::vector<int> sums(32);
  Queue().launch(one_warp, [&](auto& c) { sums[static_cast<std::size_t>(c.lane())] = simt::warp_sum(c, c.lane(), 4); });
  EXPECT_EQ(sums[0], 0 + 1 + 2 + 3);
  EXPECT_EQ(sums[31], 28 + 29 + 30 + 31);
}

TEST(Emulator, ShufflesFromAnyLaneAndCollectsVotes) {
  Queue().launch(one_warp, [&](auto& c) {
    EXPECT_EQ(c.shuffle(c.lane() * 10, (c.lane() + 1) % 32), (c.lane() + 1) % 32 * 10);
    EXPECT_EQ(c.ballot(c.lane() % 2 == 1), 0xAAAAAAAAu);
  });
}

TEST(Emulator, ReducesOverABlockTwiceInTheSameMemory) {
  for (const Order order : {Order::ascending, Order::descending}) {
    Queue(order).launch(
        {.name = "blocks", .num_blocks = 2, .block_size = 96, .shared_bytes = simt::block_reduce_bytes<int>()},
        [&](auto& c) {
          const auto slots = c.template shared<int>(simt::warp_size);
          EXPECT_EQ(simt::block_reduce(c, slots, c.thread(), mp::Sum{}), 95 * 96 / 2);
          EXPECT_EQ(simt::block_reduce(c, slots, 1, mp::Sum{}), 96);
        });
  }
}

TEST(Emulator, SharedMemoryStartsEmptyInEveryBlock) {
  const auto body = [](auto& c) {
    const auto memory = c.template shared<float>(32);
    if (c.block() == 0) memory.set(c.lane(), 1);
    memory.get(c.lane());
  };
  EXPECT_THAT(fault_of({.name = "stale", .num_blocks = 2, .block_size = 32, .shared_bytes = 128}, body),
              HasSubstr("[stale] block 1 of 2 x 32 threads: [emulator_test.cpp:"));
}

TEST(EmulatorRules, AThreadThatReturnsBeforeABarrierIsNamed) {
  const std::string message = fault_of({.name = "early", .num_blocks = 1, .block_size = 64}, [](auto& c) {
    if (c.thread() == 40) return;
    c.sync();
  });
  EXPECT_THAT(message, HasSubstr("thread 0 waits in the sync at emulator_test.cpp:"));
  EXPECT_THAT(message, HasSubstr("thread 40 has returned"));
}

TEST(EmulatorRules, TwoBarriersForOneBlockAreRefused) {
  const auto body = [](auto& c) {
    if (c.thread() < 32) {
      c.sync();
    } else {
      c.sync();
    }
  };
  EXPECT_THAT(fault_of({.name = "two", .num_blocks = 1, .block_size = 64}, body), HasSubstr("part before a barrier"));
}

TEST(EmulatorRules, AShuffleNeedsAllLanes) {
  EXPECT_THAT(fault_of(one_warp,
                       [](auto& c) {
                         if (c.lane() < 16) c.shuffle_xor(1, 1);
                       }),
              HasSubstr("part before a shuffle_xor"));
}

TEST(EmulatorRules, ABarrierInOneHalfAndAShuffleInTheOtherAreRefused) {
  EXPECT_THAT(fault_of(one_warp,
                       [](auto& c) {
                         if (c.lane() < 16) {
                           c.shuffle(1, 0);
                         } else {
                           c.sync();
                         }
                       }),
              HasSubstr("waits in the sync at"));
}

TEST(EmulatorRules, ReadingWhatAnotherThreadWroteNeedsABarrier) {
  bool synced = true;
  const auto body = [&](auto& c) {
    const auto memory = c.template shared<int>(1);
    if (c.thread() == 0) memory.set(0, 1);
    if (synced) c.sync();
    if (c.thread() == 63) memory.get(0);
  };
  const simt::Launch launch{.name = "race", .num_blocks = 1, .block_size = 64, .shared_bytes = 16};
  EXPECT_NO_THROW(Queue().launch(launch, body));
  synced = false;
  EXPECT_THAT(fault_of(launch, body, Order::ascending), HasSubstr("without a barrier after thread 0 wrote it"));
  EXPECT_THAT(fault_of(launch, body, Order::descending), HasSubstr("nobody has written"));
}

TEST(EmulatorRules, WritingWhatAnotherThreadMayStillReadNeedsABarrier) {
  const auto body = [](auto& c) {
    const auto memory = c.template shared<int>(1);
    if (c.thread() == 0) memory.set(0, 1);
    c.sync();
    memory.get(0);
    if (c.thread() == 63) memory.set(0, 2);
  };
  EXPECT_THAT(fault_of({.name = "overwrite", .num_blocks = 1, .block_size = 64, .shared_bytes = 16}, body),
              HasSubstr("without a barrier after thread"));
}

TEST(EmulatorRules, AWarpBarrierOrdersItsLanesOnly) {
  const auto body = [](auto& c) {
    const auto memory = c.template shared<int>(64);
    memory.set(c.thread(), 1);
    c.sync_warp();
    memory.get(c.thread() ^ 1);
    c.sync_warp();
    memory.set(c.thread(), 2);
    if (c.block() == 1) memory.get(c.thread() ^ 32);
  };
  simt::Launch launch{.name = "warp", .num_blocks = 1, .block_size = 64, .shared_bytes = 256};
  EXPECT_NO_THROW(Queue().launch(launch, body));
  launch.num_blocks = 2;
  EXPECT_THAT(fault_of(launch, body), HasSubstr("block 1"));
}

TEST(EmulatorRules, LanesThatTakeTurnsBehindWarpBarriersAreInOrder) {
  const auto body = [](auto& c) {
    const auto memory = c.template shared<int>(1);
    if (c.lane() == 0) memory.set(0, 0);
    c.sync_warp();
    for (int turn = 0; turn < 3; ++turn) {
      if (c.lane() == turn) memory.set(0, memory.get(0) + 1);
      c.sync_warp();
    }
    EXPECT_EQ(memory.get(0), 3);
  };
  EXPECT_NO_THROW(Queue().launch({.name = "turns", .num_blocks = 1, .block_size = 32, .shared_bytes = 16}, body));
}

TEST(EmulatorRules, AShuffleDoesNotOrderMemory) {
  const auto body = [](auto& c) {
    const auto memory = c.template shared<int>(32);
    memory.set(c.lane(), 1);
    c.shuffle(1, 0);
    memory.get(c.lane() ^ 1);
  };
  EXPECT_THAT(fault_of({.name = "shuffle", .num_blocks = 1, .block_size = 32, .shared_bytes = 128}, body),
              HasSubstr("without a barrier"));
}

TEST(EmulatorRules, SharedMemoryHasBounds) {
  const auto body = [](auto& c) { c.template shared<int>(4).set(c.lane(), 0); };
  EXPECT_THAT(fault_of({.name = "bounds", .num_blocks = 1, .block_size = 32, .shared_bytes = 16}, body),
              HasSubstr("element 4 of a shared array of 4"));
  EXPECT_THAT(fault_of({.name = "size", .num_blocks = 1, .block_size = 32, .shared_bytes = 8}, body),
              HasSubstr("do not fit the 8 bytes"));
}

TEST(EmulatorRules, BlocksMayNotTouchWhatOthersWrite) {
  float cell = 0;
  const auto write = [&](auto& c) {
    if (c.thread() == 0) c.store(&cell, 1);
  };
  const auto read = [&](auto& c) {
    if (c.thread() == 0 && c.block() == 0) c.store(&cell, 1);
    if (c.thread() == 0 && c.block() == 1) c.load(&cell);
  };
  const simt::Launch launch{.name = "blocks", .num_blocks = 2, .block_size = 32};
  EXPECT_THAT(fault_of(launch, write), HasSubstr("thread 0 of block 1 writes global memory that thread 0 of block 0"));
  EXPECT_THAT(fault_of(launch, read), HasSubstr("thread 0 of block 1 reads global memory that thread 0 of block 0"));
}

TEST(Emulator, EveryThreadOfEveryBlockMayAddToTheSameWord) {
  double sum = 1;
  Queue queue;
  queue.launch({.name = "add", .num_blocks = 3, .block_size = 64}, [&](auto& c) { c.atomic_add(&sum, c.thread()); });
  EXPECT_EQ(sum, 1 + 3 * 63 * 64 / 2);
  EXPECT_EQ(queue.traffic().atomic_requests, 3 * 2);
  EXPECT_EQ(queue.traffic().atomic_sectors, 3 * 2);
  EXPECT_EQ(queue.traffic().store_requests, 0);
}

TEST(EmulatorRules, WhatIsAddedToIsNotAccessedOtherwise) {
  float cell = 0;
  const auto read = [&](auto& c) {
    if (c.thread() == 0) c.atomic_add(&cell, 1);
    c.sync();
    if (c.thread() == 0) c.load(&cell);
  };
  const auto write = [&](auto& c) {
    if (c.thread() == 0) c.atomic_add(&cell, 1);
    if (c.thread() == 1) c.store(&cell, 1);
  };
  const auto add = [&](auto& c) {
    if (c.thread() == 0) c.store(&cell, 1);
    if (c.thread() == 1) c.atomic_add(&cell, 1);
  };
  EXPECT_THAT(fault_of(one_warp, read),
              HasSubstr("thread 0 of block 0 reads global memory that thread 0 of block 0 adds "
                        "to at emulator_test.cpp"));
  EXPECT_THAT(fault_of(one_warp, write), HasSubstr("thread 1 of block 0 writes global memory that thread 0 of block 0 "
                                                   "adds to at emulator_test.cpp"));
  EXPECT_THAT(fault_of(one_warp, add), HasSubstr("thread 1 of block 0 adds to global memory that thread 0 of block 0 "
                                                 "writes at emulator_test.cpp"));
}

TEST(EmulatorRules, ImpossibleLaunchesAreRefused) {
  const auto nothing = [](auto&) {};
  EXPECT_THAT(fault_of({.name = "odd", .num_blocks = 1, .block_size = 33}, nothing), HasSubstr("multiple of 32"));
  EXPECT_THAT(fault_of({.name = "big", .num_blocks = 1, .block_size = 32, .shared_bytes = 50'000}, nothing),
              HasSubstr("49152 bytes of shared memory"));
  EXPECT_THAT(fault_of({.name = "many", .num_blocks = std::int64_t{1} << 31, .block_size = 32}, nothing),
              HasSubstr("2^31-1"));
}

TEST(EmulatorRules, ErrorsOfTheBodyReachTheCallerAndTheQueueStaysUsable) {
  Queue queue;
  EXPECT_THROW(queue.launch(one_warp,
                            [](auto& c) {
                              if (c.lane() == 5) throw std::out_of_range("own");
                              c.sync();
                            }),
               std::out_of_range);
  int threads = 0;
  queue.launch(one_warp, [&](auto& c) {
    c.sync();
    ++threads;
  });
  EXPECT_EQ(threads, 32);
}

class EmulatorTraffic : public testing::Test {
 protected:
  Buffer<float> memory_{32 * 32};
};

TEST_F(EmulatorTraffic, NeighbouringFloatsOfAWarpAreFourSectors) {
  const Traffic traffic = traffic_of(one_warp, [&](auto& c) { c.load(memory_.data() + c.lane()); });
  EXPECT_EQ(traffic.load_requests, 1);
  EXPECT_EQ(traffic.load_sectors, 4);
}

TEST_F(EmulatorTraffic, AColumnIsOneSectorALane) {
  const Traffic traffic = traffic_of(one_warp, [&](auto& c) { c.store(memory_.data() + c.lane() * 32, 0); });
  EXPECT_EQ(traffic.store_requests, 1);
  EXPECT_EQ(traffic.store_sectors, 32);
}

TEST_F(EmulatorTraffic, ALoopIsOneRequestATurnAlsoWhenLanesSkipTurns) {
  const Traffic traffic = traffic_of(one_warp, [&](auto& c) {
    for (int turn = 0; turn < 5; ++turn) {
      if (turn < 3 || c.lane() < 8) c.load(memory_.data() + turn * 32 + c.lane());
    }
  });
  EXPECT_EQ(traffic.load_requests, 5);
  EXPECT_EQ(traffic.load_sectors, 3 * 4 + 2);
}

TEST(EmulatorSharedTraffic, CountsLanesThatWaitForTheSameBank) {
  const auto conflicts = [](auto index) {
    const simt::Launch launch{.name = "banks", .num_blocks = 1, .block_size = 32, .shared_bytes = 33 * 32 * 4};
    return traffic_of(launch,
                      [&](auto& c) {
                        const auto memory = c.template shared<float>(33 * 32);
                        memory.set(index(c.lane()), 1);
                      })
        .bank_conflicts;
  };
  EXPECT_EQ(conflicts([](int lane) { return lane; }), 0);
  EXPECT_EQ(conflicts([](int lane) { return lane * 2; }), 1);
  EXPECT_EQ(conflicts([](int lane) { return lane * 32; }), 31);
  EXPECT_EQ(conflicts([](int lane) { return lane * 33; }), 0);
}

TEST(EmulatorSharedTraffic, DoublesOfNeighboursDoNotConflictAndOneElementIsSharedByAll) {
  const simt::Launch launch{.name = "banks", .num_blocks = 1, .block_size = 32, .shared_bytes = 32 * 8};
  const Traffic traffic = traffic_of(launch, [&](auto& c) {
    const auto memory = c.template shared<double>(32);
    memory.set(c.lane(), 1);
    c.sync();
    memory.get(7);
  });
  EXPECT_EQ(traffic.shared_requests, 2);
  EXPECT_EQ(traffic.bank_conflicts, 0);
}

}  // namespace
}  // namespace bough::emulator
