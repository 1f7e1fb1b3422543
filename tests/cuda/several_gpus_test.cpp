#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "bough/core/version.h"
#include "bough/mp/frame.h"
#include "bough/nn/graph_self_attention.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/embedding.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/support/errors.h"
#include "tests/support/graph_zoo.h"

/// More than one GPU: what is on one computes there.
namespace bough {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SeveralGpus : public test::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && build_information().cuda_devices < 2) GTEST_SKIP() << "skipped: no second GPU";
  }
};

/// Parameters of an attention layer after two steps of training, on the CPU.
std::vector<Tensor> trained_on(Device device) {
  manual_seed(6);
  const Graph graph = zoo::random_graph(12, 60, 3);
  nn::GraphSelfAttention attention({.dim = 8, .heads = 2});
  attention.to(device);
  nn::AdamW optimizer(attention.named_parameters(), {.epsilon = 1e-3, .clip_norm = 0.1});
  const Tensor x = test::random_tensor({12, 8}).to(device);
  for (int step = 0; step < 2; ++step) {
    mean(square(attention.forward(graph, x))).backward();
    optimizer.step();
    optimizer.clear_grad();
  }
  std::vector<Tensor> parameters;
  for (const Tensor& parameter : attention.parameters()) parameters.push_back(parameter.detach().to(Device::cpu()));
  return parameters;
}

TEST_F(SeveralGpus, TensorsComputeWhereTheyAre) {
  const std::vector<Tensor> first = trained_on(Device::cuda(0));
  reset_peak_memory(Device::cuda(0));
  const std::int64_t before = memory_statistics(Device::cuda(0)).bytes_peak;
  const std::vector<Tensor> second = trained_on(Device::cuda(1));
  EXPECT_EQ(memory_statistics(Device::cuda(0)).bytes_peak, before) << "nothing may happen on the first GPU";
  EXPECT_GT(memory_statistics(Device::cuda(1)).bytes_peak, 0);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) test::expect_same_bits(first[i], second[i]);
}

TEST_F(SeveralGpus, TensorsAndGradientsMoveBetweenThem) {
  const Tensor x = test::random_tensor({100, 3});
  Tensor first = x.clone().to(Device::cuda(0)).detach().set_requires_grad(true);
  const Tensor second = first.to(Device::cuda(1));
  EXPECT_EQ(second.device(), Device::cuda(1));
  sum(second * 2).backward();
  EXPECT_EQ(first.grad().device(), Device::cuda(0));
  test::expect_same_bits(second.detach().to(Device::cpu()), x);
  test::expect_same_bits(first.grad().to(Device::cpu()), full({100, 3}, 2));
}

TEST_F(SeveralGpus, AGraphServesBothAtOnce) {
  const Graph graph = zoo::random_graph(10, 40, 1);
  const Tensor x = test::random_tensor({10, 4});
  const auto neighbours_on = [&](Device device) {
    return gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, x.to(device), {}).to(Device::cpu());
  };
  const Tensor first = neighbours_on(Device::cuda(0));
  test::expect_same_bits(neighbours_on(Device::cuda(1)), first);
  test::expect_same_bits(neighbours_on(Device::cuda(0)), first);
}

TEST_F(SeveralGpus, MixingThemIsRefusedNamingBoth) {
  const Graph graph = zoo::random_graph(6, 20, 1);
  const Tensor here = test::random_tensor({6, 4}).to(Device::cuda(0)),
               there = test::random_tensor({6, 4}).to(Device::cuda(1));
  const Tensor index = test::random_indices({6}, 0, 4).to(Device::cuda(1));
  Frame frame(graph);
  frame.node("h") = here;
  frame.node("g") = there;
  const std::vector<std::function<void()>> calls{
      [&] { here + there; },
      [&] { linear(here, there); },
      [&] { cross_entropy(here, index); },
      [&] { embedding(here, index); },
      [&] {
        concatenate({here, there}, 0);
      },
      [&] {
        gspmm(graph, BinaryOp::add, ReduceOp::sum, here, there, {.lhs = Target::source, .rhs = Target::destination});
      },
      [&] { frame.update_all(fn::u_add_v("h", "g", "m"), fn::sum("m", "out")); },
      [&] { Tensor(here.clone()).accumulate(there); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_THAT(test::error_message<DeviceError>(calls[i]), AllOf(HasSubstr("cuda:0"), HasSubstr("cuda:1"))) << i;
  }
}

TEST_F(SeveralGpus, OneThatIsNotThereIsNamed) {
  for (const int index : {17, -1}) {
    EXPECT_THAT(test::error_message<DeviceError>([&] { ones({3}, DType::float32, Device::cuda(index)); }),
                AllOf(HasSubstr("cuda:" + std::to_string(index)), HasSubstr("does not exist")));
  }
}

}  // namespace
}  // namespace bough
