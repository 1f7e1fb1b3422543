#include "tests/emulator/device/cublas.h"

#include <gmock/gmock.h>

#include "bough/core/errors.h"
#include "tests/cuda/products.h"
#include "tests/cuda/same_as_cpu.h"

/// The way of a product through cuBLAS: the one of these tests multiplies on the host.
namespace bough {
namespace {

using emulator::HostCublas;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(CublasProducts, OfEveryShapeAndTransposeAreThoseOfTheCpu) {
  const HostCublas cublas;
  test::expect_matmul_same_as_cpu();
  EXPECT_GT(cublas.products(), 0);
  EXPECT_EQ(cublas.tf32_products(), 0);
}

TEST(CublasProducts, OfDenseLayersAreThoseOfTheCpu) {
  const HostCublas cublas;
  test::expect_linear_same_as_cpu();
  EXPECT_GT(cublas.products(), 0);
}

TEST(CublasProducts, UseTf32OnlyWhereItIsSetAndOnlyForFloat32) {
  const HostCublas cublas;
  EXPECT_TRUE(uses_cublas());
  EXPECT_FALSE(tf32_products());
  const auto multiply = [](DType dtype) {
    const Tensor a = test::random_tensor({4, 16}, dtype, 1), b = test::random_tensor({16, 4}, dtype, 2);
    const Tensor product = matmul(a.to(Device::cuda()), b.to(Device::cuda())).to(Device::cpu());
    test::expect_close(product, matmul(a, b), {.relative = 1e-2, .absolute = 1e-2});
    return product.to_vector<double>();
  };
  const std::vector<double> exact = multiply(DType::float32);
  set_tf32_products(true);
  const std::vector<double> rounded = multiply(DType::float32);
  EXPECT_EQ(cublas.tf32_products(), 1);
  multiply(DType::float64);
  set_tf32_products(false);
  EXPECT_EQ(cublas.tf32_products(), 1);
  EXPECT_NE(exact, rounded);
}

TEST(CublasProducts, NameTheCallAndTheShapesWhenTheyFail) {
  HostCublas cublas;
  const Tensor a = test::random_tensor({3, 2, 7}).to(Device::cuda()),
               b = test::random_tensor({3, 7, 5}).to(Device::cuda());
  cublas.fail_once();
  EXPECT_THAT([&] { matmul(a, b); },
              ThrowsMessage<DeviceError>(AllOf(HasSubstr("cublasGemmStridedBatchedEx"), HasSubstr("3 products"),
                                               HasSubstr("[2, 7] by [7, 5]"), HasSubstr("float32"))));
  EXPECT_NO_THROW(matmul(a, b));
}

}  // namespace
}  // namespace bough
