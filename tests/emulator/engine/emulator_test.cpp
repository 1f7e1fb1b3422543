#include <gmock/gmock.h>

#include <array>
#include <numeric>
#include <vector>

#include "bough/detail/simt/collective.h"
#include "tests/emulator/engine/queue.h"

namespace bough::emulator {
namespace {

using testing::Each;

constexpr simt::Launch one_warp{.name = "probe", .num_blocks = 1, .block_size = 32};

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
          const auto partials = c.template shared<int>(simt::warp_size);
          EXPECT_EQ(simt::block_reduce(c, partials, c.thread(), mp::Sum{}), 95 * 96 / 2);
          EXPECT_EQ(simt::block_reduce(c, partials, 1, mp::Sum{}), 96);
        });
  }
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
