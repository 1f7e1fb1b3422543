#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/emulator/engine/queue.h"
#include "tests/support/errors.h"

/// Bodies that break the rules of bough/detail/simt/context.h, each of which the emulator must refuse.
namespace bough::emulator {
namespace {

using testing::HasSubstr;

constexpr simt::Launch one_warp{.name = "probe", .num_blocks = 1, .block_size = 32};

template <typename Body>
std::string fault_of(const simt::Launch& launch, const Body& body, Order order = Order::ascending) {
  return test::error_message<KernelFault>([&] { Queue(order).launch(launch, body); });
}

TEST(EmulatorRules, SharedMemoryStartsEmptyInEveryBlock) {
  const auto body = [](auto& c) {
    const auto memory = c.template shared<float>(32);
    if (c.block() == 0) memory.set(c.lane(), 1);
    memory.get(c.lane());
  };
  EXPECT_THAT(fault_of({.name = "stale", .num_blocks = 2, .block_size = 32, .shared_bytes = 128}, body),
              HasSubstr("[stale] block 1 of 2 x 32 threads: [rules_test.cpp:"));
}

TEST(EmulatorRules, AThreadThatReturnsBeforeABarrierIsNamed) {
  const std::string message = fault_of({.name = "early", .num_blocks = 1, .block_size = 64}, [](auto& c) {
    if (c.thread() == 40) return;
    c.sync();
  });
  EXPECT_THAT(message, HasSubstr("thread 0 waits in the sync at rules_test.cpp:"));
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
  EXPECT_THAT(fault_of(launch, body, Order::descending), HasSubstr("no thread has written"));
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
  const auto add_behind_read = [&](auto& c) {
    if (c.thread() == 0) c.load(&cell);
    c.sync();
    if (c.thread() == 0) c.atomic_add(&cell, 1);
  };
  EXPECT_THAT(fault_of(one_warp, read),
              HasSubstr("thread 0 of block 0 reads global memory that thread 0 of block 0 adds "
                        "to at rules_test.cpp"));
  EXPECT_THAT(fault_of(one_warp, write), HasSubstr("thread 1 of block 0 writes global memory that thread 0 of block 0 "
                                                   "adds to at rules_test.cpp"));
  EXPECT_THAT(fault_of(one_warp, add), HasSubstr("thread 1 of block 0 adds to global memory that thread 0 of block 0 "
                                                 "writes at rules_test.cpp"));
  EXPECT_THAT(fault_of(one_warp, add_behind_read),
              HasSubstr("thread 0 of block 0 adds to global memory that thread 0 of block 0 reads at rules_test.cpp"));
}

TEST(EmulatorRules, GlobalMemoryHasBoundsAndALifetimeWhereItIsKnown) {
  Buffer<float> memory(100);
  MemoryMap map;
  map.add(memory.data(), 33 * sizeof(float));
  Queue queue(Order::ascending, Counting::on, &map);
  const auto fault = [&](const auto& access) {
    return test::error_message<KernelFault>([&] { queue.launch(one_warp, access); });
  };
  EXPECT_NO_THROW(queue.launch(one_warp, [&](auto& c) { c.load(memory.data() + c.lane() + 1); }));
  EXPECT_THAT(fault([&](auto& c) { c.load(memory.data() + c.lane() + 2); }),
              HasSubstr("thread 31 of block 0 reads 4 bytes outside all memory there is"));
  EXPECT_THAT(fault([&](auto& c) { c.store(memory.data() + c.lane() - 1, 1); }),
              HasSubstr("thread 0 of block 0 writes 4 bytes outside"));
  EXPECT_THAT(fault([&](auto& c) { c.load(reinterpret_cast<const double*>(memory.data() + 32)); }),
              HasSubstr("reads 8 bytes outside"));
  map.remove(memory.data());
  EXPECT_THAT(fault([&](auto& c) { c.load(memory.data()); }), HasSubstr("thread 0 of block 0 reads 4 bytes outside"));
}

TEST(EmulatorRules, ImpossibleLaunchesAreRefused) {
  const auto nothing = [](auto&) {};
  EXPECT_THAT(fault_of({.name = "odd", .num_blocks = 1, .block_size = 33}, nothing), HasSubstr("multiple of 32"));
  EXPECT_THAT(fault_of({.name = "big", .num_blocks = 1, .block_size = 32, .shared_bytes = 50'000}, nothing),
              HasSubstr("49152 bytes of shared memory"));
  EXPECT_THAT(fault_of({.name = "many", .num_blocks = std::int64_t{1} << 31, .block_size = 32}, nothing),
              HasSubstr("2^31-1"));
}

TEST(EmulatorRules, EveryCollectiveOfAWarpNeedsAllLanes) {
  const auto without_lane_7 = [](const auto& collective) {
    return fault_of(one_warp, [&](auto& c) {
      if (c.lane() != 7) collective(c);
    });
  };
  EXPECT_THAT(without_lane_7([](auto& c) { c.shuffle(1, 0); }), HasSubstr("part before a shuffle: thread 0 waits"));
  EXPECT_THAT(without_lane_7([](auto& c) { c.ballot(true); }), HasSubstr("part before a ballot: thread 0 waits"));
  EXPECT_THAT(without_lane_7([](auto& c) { c.sync_warp(); }), HasSubstr("but thread 7 has returned"));
}

TEST(EmulatorRules, TwoShufflesForOneWarpAreRefused) {
  const auto body = [](auto& c) {
    if (c.lane() < 16) {
      c.shuffle(1, 0);
    } else {
      c.shuffle(1, 0);
    }
  };
  EXPECT_THAT(fault_of(one_warp, body), HasSubstr("the lanes of a warp part before a shuffle"));
}

TEST(EmulatorRules, AShuffleFromOutsideTheWarpIsRefused) {
  EXPECT_THAT(fault_of(one_warp, [](auto& c) { c.shuffle(1, c.lane() + 1); }), HasSubstr("thread 31 asks lane 32"));
}

TEST(EmulatorRules, TwoWarpsThatWriteOneElementNeedABarrier) {
  bool synced = true;
  const auto body = [&](auto& c) {
    const auto memory = c.template shared<int>(1);
    if (c.thread() == 0) memory.set(0, 1);
    if (synced) c.sync();
    if (c.thread() == 32) memory.set(0, 2);
  };
  const simt::Launch launch{.name = "race", .num_blocks = 1, .block_size = 64, .shared_bytes = 16};
  EXPECT_NO_THROW(Queue().launch(launch, body));
  synced = false;
  EXPECT_THAT(fault_of(launch, body), HasSubstr("without a barrier after thread 0 wrote it"));
}

TEST(EmulatorRules, AllThreadsAskForTheSameSharedArrays) {
  const auto body = [](auto& c) {
    if (c.thread() == 3) {
      c.template shared<double>(2);
    } else {
      c.template shared<int>(4);
    }
  };
  EXPECT_THAT(fault_of({.name = "arrays", .num_blocks = 1, .block_size = 32, .shared_bytes = 16}, body),
              HasSubstr("thread 3 asks for 2 elements of 8 bytes of shared memory where others asked for 4 of 4"));
}

TEST(EmulatorRules, AllSharedArraysTogetherFitTheLaunch) {
  const auto body = [](auto& c) {
    c.template shared<int>(5);  // takes 32 bytes: arrays begin at multiples of 16
    c.template shared<int>(4);
  };
  EXPECT_NO_THROW(Queue().launch({.name = "fits", .num_blocks = 1, .block_size = 32, .shared_bytes = 48}, body));
  EXPECT_THAT(fault_of({.name = "small", .num_blocks = 1, .block_size = 32, .shared_bytes = 47}, body),
              HasSubstr("4 elements of 4 bytes at offset 32 do not fit the 47 bytes"));
}

TEST(EmulatorRules, ThreadsOfABlockNeedABarrierForGlobalMemoryToo) {
  Buffer<float> memory(2);
  const simt::Launch launch{.name = "global", .num_blocks = 1, .block_size = 64};
  const auto faults = [&](const auto& first, const auto& second) {
    const auto body = [&](bool synced) {
      return [&, synced](auto& c) {
        if (c.thread() == 0) first(c);
        if (synced) c.sync();
        if (c.thread() == 63) second(c);
      };
    };
    EXPECT_NO_THROW(Queue().launch(launch, body(true)));
    return fault_of(launch, body(false));
  };
  const auto read = [&](auto& c) { c.load(memory.data()); };
  const auto write = [&](auto& c) { c.store(memory.data(), 1); };
  EXPECT_THAT(faults(write, read),
              HasSubstr("thread 63 of block 0 reads global memory that thread 0 of block 0 writes"));
  EXPECT_THAT(faults(write, write),
              HasSubstr("thread 63 of block 0 writes global memory that thread 0 of block 0 writes"));
  EXPECT_THAT(faults(read, write),
              HasSubstr("thread 63 of block 0 writes global memory that thread 0 of block 0 reads"));
}

TEST(EmulatorRules, BlocksMayNotWriteWhatOthersHaveRead) {
  Buffer<float> memory(1);
  const auto body = [&](auto& c) {
    if (c.thread() != 0) return;
    if (c.block() == 0) c.load(memory.data());
    if (c.block() == 1) c.store(memory.data(), 1);
  };
  const simt::Launch launch{.name = "in place", .num_blocks = 2, .block_size = 32};
  EXPECT_THAT(fault_of(launch, body, Order::ascending),
              HasSubstr("thread 0 of block 1 writes global memory that thread 0 of block 0 reads"));
  EXPECT_THAT(fault_of(launch, body, Order::descending),
              HasSubstr("thread 0 of block 0 reads global memory that thread 0 of block 1 writes"));
}

TEST(EmulatorRules, WideAccessesTouchEveryWordOfTheirs) {
  struct alignas(16) Four {
    float values[4];
  };
  Buffer<Four> memory(1);
  const simt::Launch launch{.name = "wide", .num_blocks = 2, .block_size = 32};
  const auto body = [&](auto& c) {
    if (c.thread() != 0) return;
    if (c.block() == 0) c.store(memory.data(), Four{});
    if (c.block() == 1) c.load(&memory.data()->values[3]);
  };
  EXPECT_THAT(fault_of(launch, body), HasSubstr("reads global memory"));
}

TEST(EmulatorRules, NeighbouringBytesMayHaveDifferentWriters) {
  Buffer<bool> memory(64);
  EXPECT_NO_THROW(Queue().launch({.name = "bytes", .num_blocks = 2, .block_size = 32},
                                 [&](auto& c) { c.store(memory.data() + c.block() * 32 + c.lane(), true); }));
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

}  // namespace
}  // namespace bough::emulator
