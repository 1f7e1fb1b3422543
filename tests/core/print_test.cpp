// Tensors, shapes, types and devices as text.
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "bough/core/tensor.h"

namespace bough {
namespace {

TEST(Print, SmallThings) {
  std::ostringstream stream;
  stream << Shape{3, 4} << ' ' << Shape{} << ' ' << DType::bfloat16 << ' ' << Device::cuda(1) << ' ' << Device::cpu();
  EXPECT_EQ(stream.str(), "[3, 4] [] bfloat16 cuda:1 cpu");
  EXPECT_EQ(to_string(DType::boolean), "bool");
}

TEST(Print, ATensorInColumns) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from_vector(std::vector<float>{0.5f, 1, -2.25f, 3, nan, -infinity}, {2, 3});
  EXPECT_EQ(to_string(x),
            "tensor([[  0.5,     1, -2.25],\n"
            "        [    3,   nan,  -inf]], shape=[2, 3], dtype=float32)");
  std::ostringstream stream;
  stream << x;
  EXPECT_EQ(stream.str(), to_string(x));
}

TEST(Print, EveryType) {
  EXPECT_EQ(to_string(arange(3)), "tensor([0, 1, 2], shape=[3], dtype=int64)");
  EXPECT_EQ(to_string(arange(2, DType::int32)), "tensor([0, 1], shape=[2], dtype=int32)");
  EXPECT_EQ(to_string(arange(2, DType::boolean)), "tensor([false, true], shape=[2], dtype=bool)");
  EXPECT_EQ(to_string(full({2}, 1.5, DType::bfloat16)), "tensor([1.5, 1.5], shape=[2], dtype=bfloat16)");
  EXPECT_EQ(to_string(full({}, -0.125, DType::float64)), "tensor(-0.125, dtype=float64)");
}

TEST(Print, NumbersAreShort) {
  const Tensor x = Tensor::from_vector(std::vector<double>{1.0 / 3, 1e-7, 123456.75, 2e9, 0}, {5});
  EXPECT_EQ(to_string(x), "tensor([0.3333, 1.0000e-07, 123456.75, 2.0000e+09, 0], shape=[5], dtype=float64)");
}

TEST(Print, LargeTensorsAreShortened) {
  EXPECT_EQ(to_string(arange(1001)), "tensor([0, 1, 2, ..., 998, 999, 1000], shape=[1001], dtype=int64)");
  EXPECT_EQ(to_string(arange(2000).reshape({1000, 2})),
            "tensor([[   0,    1],\n"
            "        [   2,    3],\n"
            "        [   4,    5],\n"
            "        ...,\n"
            "        [1994, 1995],\n"
            "        [1996, 1997],\n"
            "        [1998, 1999]], shape=[1000, 2], dtype=int64)");
  EXPECT_EQ(to_string(arange(4).reshape({2, 1, 2})),
            "tensor([[[0, 1]],\n"
            "\n"
            "        [[2, 3]]], shape=[2, 1, 2], dtype=int64)");
}

TEST(Print, NothingAtAll) {
  EXPECT_EQ(to_string(Tensor()), "tensor(undefined)");
  EXPECT_EQ(to_string(zeros({0})), "tensor([], shape=[0], dtype=float32)");
  EXPECT_EQ(to_string(zeros({1'000'000'000, 0})), "tensor([], shape=[1000000000, 0], dtype=float32)");
}

TEST(Print, DoesNotTakePartInAutograd) {
  Tensor x = ones({1});
  x.set_requires_grad(true);
  EXPECT_EQ(to_string(x), "tensor([1], shape=[1], dtype=float32)");
  EXPECT_TRUE(x.is_leaf());
}

}  // namespace
}  // namespace bough
