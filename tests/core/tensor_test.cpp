#include "bough/core/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "bough/core/parallel.h"

namespace bough {
namespace {

template <typename E, typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0.f);
  return Tensor::from_vector(values, shape);
}

TEST(Tensor, TakesAndGivesBackVectorsOfEveryType) {
  EXPECT_EQ(Tensor::from_vector(std::vector<double>{1.5, 2.5}, {2}).to_vector<double>(),
            (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(Tensor::from_vector(std::vector<std::int64_t>{1, 1LL << 40}, {2}).to_vector<std::int64_t>()[1], 1LL << 40);
  EXPECT_EQ(Tensor::from_vector(std::vector<bool>{true, false}, {2}).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(Tensor::from_vector(std::vector<std::int32_t>{3}, {}).item<float>(), 3.f);
}

TEST(Tensor, RefusesTheWrongNumberOfValues) {
  const std::string text = message_of<ShapeError>([] { Tensor::from_vector(std::vector<float>(5), {2, 3}); });
  EXPECT_NE(text.find("[2, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find('5'), std::string::npos) << text;
  EXPECT_THROW(Tensor::from_vector(std::vector<bool>(5), {2, 3}), ShapeError);
}

TEST(Tensor, GivesItsDataOnlyUnderItsOwnType) {
  Tensor tensor = ones({2});
  const std::string text = message_of<TypeError>([&] { tensor.data<double>(); });
  EXPECT_NE(text.find("float32"), std::string::npos) << text;
  EXPECT_NE(text.find("float64"), std::string::npos) << text;
}

TEST(Tensor, UndefinedTensorsAreRefusedPolitely) {
  const Tensor nothing;
  EXPECT_FALSE(nothing.defined());
  EXPECT_THROW(nothing.shape(), Error);
  EXPECT_THROW(nothing.reshape({1}), Error);
  EXPECT_THROW(Tensor().set_requires_grad(true), AutogradError);
  EXPECT_FALSE(nothing.grad().defined());
}

TEST(Tensor, AGradientThatIsNotThereYetAsksForBackward) {
  Tensor leaf = ones({2});
  EXPECT_NE(message_of<AutogradError>([&] { leaf.grad().shape(); }).find("set_requires_grad(true)"), std::string::npos);
  leaf.set_requires_grad(true);
  EXPECT_FALSE(leaf.grad().defined());
  EXPECT_NE(message_of<AutogradError>([&] { leaf.grad().shape(); }).find("run backward()"), std::string::npos);
}

TEST(Tensor, RefusesNumbersThatAnIntegerCannotHold) {
  EXPECT_EQ(full({}, -2.7).item<int>(), -2);
  EXPECT_EQ(full({}, -2147483648.0, DType::float64).item<std::int32_t>(), -2147483647 - 1);
  EXPECT_THROW(full({}, std::nan("")).item<int>(), TypeError);
  EXPECT_THROW(full({}, 2147483648.0).item<std::int32_t>(), TypeError);
  EXPECT_EQ(full({}, 2147483648.0).item<std::int64_t>(), std::int64_t{1} << 31);
  EXPECT_TRUE(full({}, std::nan("")).item<bool>());
}

TEST(Tensor, OnlyOneExtentMayBeLeftOpen) {
  EXPECT_NE(message_of<ShapeError>([] {
              ones({6}).reshape({-1, -1});
            }).find("only one extent may be -1"),
            std::string::npos);
}

TEST(Tensor, ItemWantsExactlyOneElement) {
  EXPECT_EQ(full({1, 1}, 7).item<int>(), 7);
  EXPECT_THROW(ones({2}).item<float>(), ShapeError);
  EXPECT_THROW(ones({0}).item<float>(), ShapeError);
}

TEST(Tensor, ReshapeAndRowsShareTheStorage) {
  Tensor tensor = counting({4, 3});
  Tensor flat = tensor.reshape({-1});
  Tensor middle = tensor.rows(1, 3);
  EXPECT_EQ(flat.shape(), Shape({12}));
  EXPECT_EQ(middle.to_vector<float>(), (std::vector<float>{3, 4, 5, 6, 7, 8}));
  flat.data<float>()[3] = 100;
  EXPECT_EQ(middle.data<float>()[0], 100);
  middle.fill(-1);
  EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{0, 1, 2, -1, -1, -1, -1, -1, -1, 9, 10, 11}));
}

TEST(Tensor, ReshapeFindsTheOpenExtentOrSaysWhyNot) {
  EXPECT_EQ(counting({4, 3}).reshape({2, -1}).shape(), Shape({2, 6}));
  EXPECT_THROW(counting({4, 3}).reshape({5, -1}), ShapeError);
  EXPECT_THROW(counting({4, 3}).reshape({-1, -1}), ShapeError);
  EXPECT_THROW(zeros({0, 3}).reshape({0, -1}), ShapeError) << "any extent would do";
  const std::string text = message_of<ShapeError>([] { counting({4, 3}).reshape({5, 2}); });
  EXPECT_NE(text.find("[4, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("[5, 2]"), std::string::npos) << text;
}

TEST(Tensor, RowsChecksItsRange) {
  const Tensor tensor = counting({4, 3});
  EXPECT_EQ(tensor.rows(4, 4).shape(), Shape({0, 3}));
  EXPECT_THROW(tensor.rows(-1, 2), ShapeError);
  EXPECT_THROW(tensor.rows(3, 2), ShapeError);
  EXPECT_THROW(tensor.rows(0, 5), ShapeError);
  EXPECT_THROW(ones({}).rows(0, 1), ShapeError);
}

TEST(Tensor, CloneHasItsOwnStorage) {
  Tensor tensor = counting({3});
  Tensor copy = tensor.clone();
  copy.fill(9);
  EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{0, 1, 2}));
}

TEST(Tensor, InPlaceWritesAreCountedThroughViews) {
  Tensor tensor = counting({4, 3});
  const std::uint64_t before = tensor.version();
  tensor.rows(0, 1).fill(0);
  tensor.accumulate(ones({4, 3}), 2);
  EXPECT_EQ(tensor.version(), before + 2);
  EXPECT_EQ(tensor.to_vector<float>()[11], 13);
  EXPECT_THROW(tensor.accumulate(ones({3, 4})), ShapeError);
  EXPECT_THROW(tensor.assign(zeros({4, 3}, DType::float64)), TypeError);
}

TEST(Tensor, AccumulateIsTheSameForAnyNumberOfThreads) {
  const int before = num_threads();
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    results.push_back(counting({300007}).accumulate(counting({300007}), 0.1).to_vector<float>());
  }
  set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  EXPECT_FLOAT_EQ(results[0][300006], 300006.f * 1.1f);
}

TEST(Tensor, EmptyTensorsAreOrdinary) {
  Tensor tensor = zeros({0, 5});
  EXPECT_EQ(tensor.elements(), 0);
  EXPECT_TRUE(tensor.to_vector<float>().empty());
  tensor.fill(3).accumulate(zeros({0, 5}));
  EXPECT_EQ(tensor.clone().shape(), Shape({0, 5}));
}

TEST(Creation, FillsAsTold) {
  EXPECT_EQ(arange(4).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(arange(3, DType::float64).to_vector<double>(), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(full({2}, 2.5, DType::float64).to_vector<double>(), (std::vector<double>{2.5, 2.5}));
  EXPECT_EQ(zeros_like(ones({2, 2}, DType::int32)).dtype(), DType::int32);
  EXPECT_THROW(randn({2}, DType::int64), TypeError);
  EXPECT_THROW(arange(-1), ShapeError);
}

TEST(Device, IsReadFromTextAndWrittenBack) {
  EXPECT_EQ(parse_device("cpu"), Device::cpu());
  EXPECT_EQ(parse_device("cuda:3"), Device::cuda(3));
  EXPECT_EQ(to_string(Device::cuda(1)), "cuda:1");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x"})
    EXPECT_THROW(parse_device(bad), ConfigError) << bad;
}

TEST(Creation, TakesTypeAndDeviceByName) {
  EXPECT_EQ(zeros({2}).dtype(), DType::float32);
  EXPECT_EQ(zeros({2}, {.dtype = DType::int64, .device = Device::cpu()}).dtype(), DType::int64);
  EXPECT_EQ(ones({2}, {.dtype = DType::float64}).to_vector<double>(), (std::vector<double>{1, 1}));
  EXPECT_EQ(full({2}, 3, {.dtype = DType::int32}).to_vector<int>(), (std::vector<int>{3, 3}));
  EXPECT_EQ(arange(3).dtype(), DType::int64);
  EXPECT_EQ(arange(3, {.device = Device::cpu()}).dtype(), DType::int64);
  EXPECT_EQ(arange(3, {.dtype = DType::float32}).to_vector<float>(), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(randn({3}, {.dtype = DType::float64}).dtype(), DType::float64);
}

TEST(Creation, TakesAVectorForAShape) {
  const std::vector<std::int64_t> extents{2, 3};
  EXPECT_EQ(zeros(extents).shape(), (Shape{2, 3}));
  EXPECT_EQ(arange(6).reshape(extents).shape(), (Shape{2, 3}));
}

}  // namespace
}  // namespace bough
