#include "bough/core/launch_trace.h"

#include <gmock/gmock.h>

#include "bough/ops/edge_softmax.h"
#include "bough/ops/gspmm.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

class GpuTrace : public test::GpuTest {};

TEST_F(GpuTrace, EveryKernelOfAnOperationIsSeen) {
  const Graph graph = zoo::random_graph(20, 150, 3);
  const Tensor scores = test::random_tensor({150, 2}).to(Device::cuda());
  std::vector<std::string> kernels;
  {
    const LaunchTrace trace(
        [&](const KernelLaunch& launch) {
          kernels.emplace_back(launch.kernel);
          EXPECT_EQ(launch.device, Device::cuda());
          EXPECT_GT(launch.blocks, 0);
          EXPECT_EQ(launch.block_size % 32, 0);
          EXPECT_GE(launch.milliseconds.value_or(-1), 0);
          EXPECT_GT(
              launch.resources.value_or(KernelResources{.blocks_per_multiprocessor = 1}).blocks_per_multiprocessor, 0);
        },
        {.timing = true, .resources = true});
    const Tensor weights = edge_softmax(graph, scores);
    gspmm(graph, BinaryOp::copy_rhs, ReduceOp::max, {}, weights);
  }
  const std::size_t seen = kernels.size();
  edge_softmax(graph, scores);
  EXPECT_EQ(kernels.size(), seen);
  EXPECT_THAT(kernels, testing::IsSupersetOf({"edge_softmax", "gspmm"}));
}

}  // namespace
}  // namespace bough
