#include <gtest/gtest.h>

#include "bough/core/device.h"
#include "bough/core/memory.h"
#include "kernels/cuda/graph_attention.h"
#include "tests/kernels/graph_attention_cases.h"
#include "tests/support/compare.h"

/// What runs on a GPU, against the CPU. Without one every test says so by name and does nothing.
namespace bough {
namespace {

using test::all_extras;
using test::attention_case;
using test::AttentionCase;
using test::with_types;

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (Device::cuda_if_available() == Device::cpu()) GTEST_SKIP() << "skipped: no GPU";
  }
};

AttentionCase moved(AttentionCase c) {
  for (Tensor* tensor : test::tensors_of(c)) *tensor = tensor->to(Device::cuda());
  return c;
}

void expect_same_as_cpu(const AttentionCase& c) {
  const AttentionCase there = moved(c);
  test::expect_close(test::attend(there).to(Device::cpu()), test::attend(c));
  AttentionCase recorded = there;
  for (Tensor* tensor : test::tensors_of(recorded)) *tensor = tensor->set_requires_grad(true);
  const Tensor out = test::attend(recorded);
  out.backward({.gradient = test::random_tensor(out.shape(), out.dtype(), 20).to(Device::cuda())});
  const std::vector<Tensor> expected = test::gradients_of(c);
  const auto tensors = test::tensors_of(recorded);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    test::expect_close(tensors[i]->grad().to(Device::cpu()), expected[i]);
  }
}

TEST_F(Gpu, CopiesThereAndBack) {
  const Tensor x = test::random_tensor({1000, 7});
  test::expect_same_bits(x.to(Device::cuda()).to(Device::cpu()), x);
  EXPECT_GT(memory_statistics(Device::cuda()).bytes_peak, 0);
}

TEST_F(Gpu, AttentionMatchesTheCpuOnEveryGraph) {
  for (const zoo::Animal& animal : zoo::all(3000)) {
    SCOPED_TRACE(animal.name);
    expect_same_as_cpu(
        attention_case(with_types(animal.graph, 3), DType::float32, {2, 64, 64}, {.relation_keys = true}));
  }
}

TEST_F(Gpu, AttentionTakesEveryOption) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const auto& [name, extras] : all_extras()) {
      SCOPED_TRACE(name);
      expect_same_as_cpu(attention_case(with_types(zoo::random_graph(40, 900, 2), 4), dtype, {2, 8, 12}, extras));
    }
  }
}

TEST_F(Gpu, AttentionIsBitwiseEqualFromRunToRun) {
  const AttentionCase c = moved(attention_case(zoo::power_law(2000, 40'000, 4), DType::float32, {4, 64, 64}));
  test::expect_same_bits(test::attend(c).to(Device::cpu()), test::attend(c).to(Device::cpu()));
}

TEST(NoGpu, KernelsSayWhatToDo) {
  if (!(Device::cuda_if_available() == Device::cpu())) GTEST_SKIP() << "skipped: there is a GPU";
  EXPECT_THROW(test::random_tensor({3}).to(Device::cuda()), DeviceError);
  AttentionInputs<float> in;
  in.heads = 1;
  EXPECT_THROW(attend_rows(Cuda{}, {.num_items = 1}, {}, in, AttentionOutputs<float>{}), DeviceError);
}

}  // namespace
}  // namespace bough
