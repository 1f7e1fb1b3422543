#include "bough/core/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

#include "bough/core/errors.h"
#include "bough/core/tensor.h"
#include "src/core/allocator.h"

namespace bough {
namespace {

std::int64_t bytes_of_tag(const std::string& tag) {
  for (const TagStatistics& entry : memory_statistics().tags) {
    if (entry.tag == tag) return entry.bytes_now;
  }
  return 0;
}

TEST(Memory, CountsWhatLivesAndThePeak) {
  reset_peak_memory();
  const std::int64_t before = memory_statistics().bytes_now;
  {
    const Tensor a = Tensor::empty({1024});
    const Tensor b = a.reshape({32, 32});
    EXPECT_EQ(memory_statistics().bytes_now, before + 4096) << "a view owns nothing";
  }
  EXPECT_EQ(memory_statistics().bytes_now, before);
  EXPECT_EQ(memory_statistics().bytes_peak, before + 4096);
}

TEST(Memory, BlocksAreAlignedForVectors) {
  for (std::int64_t count : {1, 3, 17, 1000, 100001}) {
    Tensor tensor = Tensor::empty({count});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data<float>()) % 64, 0u);
  }
}

TEST(Memory, RoundsUpByLessThanAQuarter) {
  const std::int64_t before = memory_statistics().bytes_now;
  for (std::int64_t count : {100, 129, 1000, 4097, 123457}) {
    const Tensor tensor = Tensor::empty({count});
    const std::int64_t used = memory_statistics().bytes_now - before;
    EXPECT_GE(used, 4 * count);
    EXPECT_LE(used, 4 * count + std::max<std::int64_t>(64, count));
  }
}

TEST(Memory, RepeatedShapesDoNotReachTheSystemAgain) {
  const auto step = [] {
    const Tensor a = Tensor::empty({333, 77});
    const Tensor b = Tensor::empty({5});
    const Tensor c = a.clone();
  };
  step();
  const std::int64_t before = memory_statistics().system_allocations;
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(memory_statistics().system_allocations, before);
}

TEST(Memory, ReleasesItsCache) {
  { const Tensor tensor = Tensor::empty({1 << 20}); }
  EXPECT_GE(memory_statistics().bytes_cached, 4 << 20);
  release_cached_memory();
  EXPECT_EQ(memory_statistics().bytes_cached, 0);
}

TEST(Memory, TagsNestAndFollowTheTensorToItsEnd) {
  Tensor weights, activations;
  {
    const MemoryTag outer("weights of the test");
    weights = Tensor::empty({1024});
    {
      const MemoryTag inner("activations of the test");
      activations = Tensor::empty({2048});
    }
  }
  EXPECT_EQ(bytes_of_tag("weights of the test"), 4096);
  EXPECT_EQ(bytes_of_tag("activations of the test"), 8192);
  activations = {};
  EXPECT_EQ(bytes_of_tag("activations of the test"), 0);
}

TEST(Memory, FailureNamesTheSizeAndTheLargestUserAndLeavesAllUsable) {
  const MemoryTag tag("greedy part of the test");
  Tensor kept = full({1 << 16}, 3);
  set_memory_limit(memory_statistics().bytes_now + (1 << 20));
  try {
    Tensor::empty({1 << 24});
    ADD_FAILURE() << "the limit was not kept";
  } catch (const AllocationError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(std::to_string(4 << 24)), std::string::npos) << text;
    EXPECT_NE(text.find("greedy part of the test"), std::string::npos) << text;
  }
  const Tensor small = Tensor::empty({16});
  EXPECT_EQ(kept.data<float>()[12345], 3);
  set_memory_limit(0);
  EXPECT_THROW(set_memory_limit(-1), ConfigError);
}

TEST(Memory, ARequestNoMachineCanServeIsAnError) {
  EXPECT_THROW(Tensor::empty({std::int64_t{1} << 46, 1 << 10}), AllocationError);
  EXPECT_THROW(Tensor::empty({std::int64_t{1} << 62}), ShapeError) << "its bytes do not fit in 64 bits";
  EXPECT_EQ(ones({3}).to_vector<float>(), std::vector<float>(3, 1));
}

TEST(Memory, ThreadsShareThePool) {
  const std::int64_t before = memory_statistics().bytes_now;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int step = 0; step < 500; ++step) {
        Tensor tensor = full({64 + step % 7}, i);
        ASSERT_EQ(tensor.data<float>()[5], static_cast<float>(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory_statistics().bytes_now, before);
}

TEST(Memory, WithoutAPoolEveryBlockIsTheSystemsAndExact) {
  const auto with_setting = [](const char* setting) {
    setenv("BOUGH_MEMORY_POOL", setting, 1);
    const std::unique_ptr<const char, void (*)(const char*)> end(setting,
                                                                 [](const char*) { unsetenv("BOUGH_MEMORY_POOL"); });
    return std::make_unique<PooledAllocator>(Device::cpu());
  };
  for (const char* setting : {"on", "off"}) {
    const bool pooled = std::string(setting) == "on";
    const auto allocator = with_setting(setting);
    for (int i = 0; i < 3; ++i) {
      const PooledAllocator::Block block = allocator->allocate(1001);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.address) % 64, 0u);
      EXPECT_EQ(allocator->statistics().bytes_now, pooled ? 1024 : 1001);
      allocator->free(block);
      EXPECT_EQ(allocator->statistics().bytes_now, 0);
    }
    EXPECT_EQ(allocator->statistics().system_allocations, pooled ? 1 : 3);
    EXPECT_EQ(allocator->statistics().bytes_cached, pooled ? 1024 : 0);
  }
  EXPECT_THROW(with_setting("perhaps"), ConfigError);
}

TEST(Memory, AMissingDeviceIsAHelpfulError) {
  if (!(Device::cuda_if_available() == Device::cpu())) return;
  try {
    Tensor::empty({4}, DType::float32, Device::cuda());
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("--device cpu"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace bough
