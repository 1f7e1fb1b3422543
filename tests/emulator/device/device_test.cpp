#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "bough/core/captured_step.h"
#include "bough/core/errors.h"
#include "bough/core/prefetcher.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/dropout.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
#include "tasks/language_model/windows.h"
#include "tasks/runner/run_sweep.h"
#include "tests/emulator/device/device_memory.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/random_tensor.h"

/// What only an emulated GPU can be made to do.
namespace bough {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(EmulatedDevice, AFailingLaunchNamesKernelSizesAndShapes) {
  const Tensor x = test::random_tensor({20, 5}).to(Device::cuda(1));
  const emulator::FailingKernel failing("gspmm");
  EXPECT_THAT(test::error_message<DeviceError>(
                  [&] { gspmm(zoo::random_graph(20, 150, 3), BinaryOp::copy_lhs, ReduceOp::sum, x, {}); }),
              AllOf(HasSubstr("gspmm on cuda:1, 5 blocks of 128 threads"), HasSubstr("float32 [20, 5] on cuda:1")));
}

TEST(EmulatedDevice, TheHostDoesNotWaitForACapturedStepAndItsOptimizer) {
  const Device device = Device::cuda();
  Tensor p = test::random_tensor({40, 40}).to(device).set_requires_grad(true), x = ones({40, 40}).to(device);
  nn::AdamW optimizer({{"p", p}}, {.clip_norm = 1});
  CapturedStep step(device, [&] {
    const Tensor loss = mean(dropout(linear(x, p), 0.5));
    loss.backward();
    const Tensor norm = optimizer.enqueue_step();
    optimizer.clear_grad();
    return std::vector{loss, norm};
  });
  for (int i = 0; i < 2; ++i) step.run();
  const int before = emulator::copies_waited_for();
  for (int i = 0; i < 5; ++i) step.run();
  EXPECT_EQ(emulator::copies_waited_for(), before);
  step.run()[0].item<double>();
  EXPECT_EQ(emulator::copies_waited_for(), before + 1);
}

/// Copies that the host waits for in a run of the character language model.
int copies_of_run(const std::string& folder, int log_every) {
  const nlohmann::json source{
      {"task", {{"corpus", {{"kind", "text"}, {"path", "text"}}}, {"length", 16}}},
      {"graph", {{"kind", "window"}, {"width", 4}}},
      {"model", {{"layers", 1}, {"dim", 8}, {"heads", 2}, {"ffn", 8}}},
      {"train",
       {{"steps", 9}, {"tokens_per_batch", 16}, {"log_every", log_every}, {"evaluate_every", 9}, {"captured", true}}}};
  const runner::Experiment experiment =
      runner::read_experiment(source, {.data_folders = {folder}, .device = Device::cuda()});
  const int before = emulator::copies_waited_for();
  runner::run_sweep(experiment, runner::plan_runs(experiment),
                    {.folder = fmt::format("{}/every-{}", folder, log_every)});
  return emulator::copies_waited_for() - before;
}

TEST(EmulatedDevice, ACapturedRunWaitsForItsLossesOnlyWhereItLogsThem) {
  const test::TemporaryFolder folder;
  std::ofstream text(folder.file("text"));
  for (int i = 0; i < 40; ++i) text << "some words, ";
  text.close();
  // Nine losses each. The norm is read besides, in each step or in the first and the last one.
  EXPECT_EQ(copies_of_run(folder.file(""), 1) - copies_of_run(folder.file(""), 9), 7);
}

std::vector<std::int32_t> finished(Prefetcher& prefetcher) {
  return prefetcher.finish().at(0).to_vector<std::int32_t>();
}

TEST(EmulatedDevice, UploadsHappenWhileOthersCompute) {
  Prefetcher prefetcher(Device::cuda());
  prefetcher.start({Tensor::from_vector<std::int32_t>({1, 2}, {2}), Tensor::from_vector<std::int32_t>({3}, {1})});
  EXPECT_EQ(emulator::copies_under_way(), 2);
  EXPECT_EQ(finished(prefetcher), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(emulator::copies_under_way(), 0);
}

TEST(EmulatedDevice, AStagingBufferIsNotWrittenBeforeItHasBeenRead) {
  Prefetcher prefetcher(Device::cuda(), 2);
  Tensor reused = Tensor::empty({3}, DType::int32);
  for (std::int32_t batch = 0; batch < 5; ++batch) {
    reused.fill(batch);
    prefetcher.start({reused});
  }
  EXPECT_EQ(emulator::copies_under_way(), 2) << "the host is as far ahead as there are buffers";
  for (std::int32_t batch = 0; batch < 5; ++batch) EXPECT_EQ(finished(prefetcher), std::vector<std::int32_t>(3, batch));
}

TEST(EmulatedDevice, BuffersGrowAndAreLeftBehindInOrder) {
  {
    Prefetcher prefetcher(Device::cuda(1), 1);
    prefetcher.start({arange(3, DType::int32)});
    prefetcher.start({arange(5000, DType::int32)});
    EXPECT_EQ(finished(prefetcher).size(), 3u);
    prefetcher.start({arange(7, DType::int32)});
  }
  EXPECT_EQ(emulator::copies_under_way(), 0)
      << "memory of copies whose results were not taken is given back after them";
}

TEST(EmulatedDevice, TheNextWindowsAreOnTheirWayDuringAStep) {
  const auto text = std::make_shared<const std::vector<std::int32_t>>(arange(50).to_vector<std::int32_t>());
  const TrainingWindows windows(text, {.length = 4, .count = 3}, 7);
  DeviceWindows there(windows, Device::cuda());
  for (const std::int64_t step : {1, 2, 3, 9, 10}) {  // a run that is resumed goes on somewhere else
    const WindowBatch batch = there.batch(step);
    EXPECT_EQ(emulator::copies_under_way(), 2);
    test::expect_same_bits(batch.inputs.to(Device::cpu()), windows.batch(step).inputs);
    test::expect_same_bits(batch.targets.to(Device::cpu()), windows.batch(step).targets);
  }
}

}  // namespace
}  // namespace bough
