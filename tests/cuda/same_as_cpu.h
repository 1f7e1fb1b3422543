#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/core/device.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough::test {

/// Tests that need a GPU. Without one every one of them says so by name and does nothing.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Device::cuda_if_available() == Device::cpu()) GTEST_SKIP() << "skipped: no GPU";
  }
};

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// f gives a tensor from some inputs: the result and all gradients on the GPU against those on the CPU. Inputs that are
/// not of floating type have none.
inline void expect_same_as_cpu(const std::vector<Tensor>& inputs, const Function& f) {
  struct Outcome {
    Tensor result;
    std::vector<Tensor> gradients;
  };
  const auto run_on = [&](Device device) {
    std::vector<Tensor> leaves;
    for (const Tensor& input : inputs) {
      leaves.push_back(input.clone().to(device));
      if (is_floating(input.dtype())) leaves.back().set_requires_grad(true);
    }
    const Tensor result = f(leaves);
    EXPECT_EQ(result.device(), device);
    if (result.requires_grad()) {
      result.backward({.gradient = random_tensor(result.shape(), result.dtype(), 20).to(device)});
    }
    Outcome outcome{result.detach().to(Device::cpu()), {}};
    for (const Tensor& leaf : leaves) {
      if (leaf.grad().defined()) outcome.gradients.push_back(leaf.grad().to(Device::cpu()));
    }
    return outcome;
  };
  const Outcome gpu = run_on(Device::cuda()), cpu = run_on(Device::cpu());
  expect_close(gpu.result, cpu.result);
  ASSERT_EQ(gpu.gradients.size(), cpu.gradients.size());
  for (std::size_t i = 0; i < gpu.gradients.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(gpu.gradients[i], cpu.gradients[i]);
  }
}

}  // namespace bough::test
