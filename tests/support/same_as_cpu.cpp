#include "tests/support/same_as_cpu.h"

#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough::test {
namespace {

/// The result, then the gradients of all inputs that have one.
std::vector<Tensor> run_on(Device device, const std::vector<Tensor>& inputs, const Function& f) {
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
  std::vector<Tensor> outcome{result.detach().to(Device::cpu())};
  for (const Tensor& leaf : leaves) {
    if (leaf.grad().defined()) outcome.push_back(leaf.grad().to(Device::cpu()));
  }
  return outcome;
}

}  // namespace

void expect_same_as_cpu(const std::vector<Tensor>& inputs, const Function& f, std::source_location where) {
  const std::vector<Tensor> gpu = run_on(Device::cuda(), inputs, f), cpu = run_on(Device::cpu(), inputs, f);
  ASSERT_EQ(gpu.size(), cpu.size());
  for (std::size_t i = 0; i < gpu.size(); ++i) {
    SCOPED_TRACE(i == 0 ? "the result" : "gradient " + std::to_string(i - 1));
    expect_close(gpu[i], cpu[i], where);
  }
}

}  // namespace bough::test
