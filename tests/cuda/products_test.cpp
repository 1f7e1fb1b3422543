#include "tests/cuda/products.h"

#include "tests/cuda/same_as_cpu.h"

/// Products on a GPU, against the CPU.
namespace bough {
namespace {

class GpuProducts : public test::GpuTest {};

TEST_F(GpuProducts, OfEveryShapeAndTransposeAreThoseOfTheCpu) { test::expect_matmul_same_as_cpu(); }

TEST_F(GpuProducts, OfDenseLayersAreThoseOfTheCpu) { test::expect_linear_same_as_cpu(); }

TEST_F(GpuProducts, AreBitwiseEqualFromRunToRun) {
  const Tensor a = test::random_tensor({70, 300}, DType::float32, 1).to(Device::cuda());
  const Tensor b = test::random_tensor({300, 65}, DType::float32, 2).to(Device::cuda());
  test::expect_same_bits(matmul(a, b).to(Device::cpu()), matmul(a, b).to(Device::cpu()));
}

/// On a card that has it the products differ, on others they do not: both are within what TF32 means.
TEST_F(GpuProducts, MayBeRoundedToTf32WhereThatIsAskedFor) {
  const Tensor a = test::random_tensor({40, 64}, DType::float32, 1), b = test::random_tensor({64, 40});
  set_tf32_products(true);
  const Tensor rounded = matmul(a.to(Device::cuda()), b.to(Device::cuda())).to(Device::cpu());
  set_tf32_products(false);
  test::expect_close(rounded, matmul(a, b), {.relative = 1e-2, .absolute = 2e-2});
}

}  // namespace
}  // namespace bough
