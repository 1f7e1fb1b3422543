#include "bough/ops/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "bough/ops/arithmetic.h"
#include "kernels/reference/elementwise.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough::test {
namespace {

using testing::AllOf, testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct ReductionCase {
  const char* name;
  Tensor (*over_all)(const Tensor&);
  Tensor (*over_axes)(const Tensor&, const Axes&, const ReduceOptions&);
  double start;
  double (*combine)(double, double);
  bool mean = false;
};

const ReductionCase reductions[] = {
    {"sum", sum, sum, 0, [](double a, double b) { return a + b; }},
    {"mean", mean, mean, 0, [](double a, double b) { return a + b; }, true},
    {"prod", prod, prod, 1, [](double a, double b) { return a * b; }},
    {"max", max, max, -infinity, [](double a, double b) { return a > b ? a : b; }},
    {"min", min, min, infinity, [](double a, double b) { return a < b ? a : b; }},
};

void PrintTo(const ReductionCase& each, std::ostream* out) { *out << each.name; }

struct ReducedAxes {
  Shape shape;
  std::vector<int> axes;
};

/// Rows, columns, narrow columns, several groups, axes of extent 1 between and around, whole tensors.
const ReducedAxes reduced_axes[] = {
    {{1}, {0}},
    {{5}, {0}},
    {{37}, {-1}},
    {{3, 5}, {0}},
    {{3, 5}, {1}},
    {{3, 5}, {0, 1}},
    {{2, 77}, {1}},
    {{77, 2}, {0}},
    {{300, 7}, {0}},
    {{5, 70}, {0}},
    {{4, 6, 65}, {1}},
    {{4, 3, 5}, {0, 2}},
    {{4, 1, 5}, {0, 2}},
    {{4, 1, 5}, {1}},
    {{2, 3, 4, 5}, {1, 2}},
    {{2, 3, 4, 5}, {3, 0}},
    {{2, 3, 4, 5}, {0, 2}},
    {{2, 3, 1, 2, 3}, {0, 2, 4}},
    {{2, 3, 2, 2, 3}, {1, 3}},
    {{2, 3}, {}},
};

Shape with_ones(const Shape& shape, const std::vector<int>& axes) {
  Shape result = shape;
  for (int axis : axes) result = result.with(axis, 1);
  return result;
}

Shape without(const Shape& shape, const std::vector<int>& axes) {
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced =
        std::ranges::any_of(axes, [&](int each) { return (each + shape.rank()) % shape.rank() == axis; });
    if (!reduced) extents.push_back(shape[axis]);
  }
  return Shape(extents);
}

/// Positive and near 1, so that products neither vanish nor explode.
Tensor factors(const Shape& shape, DType dtype) { return random_uniform(shape, 0.9, 1.1, dtype); }

class ReductionOperation : public DeviceCaseTest<ReductionCase> {
 protected:
  static Tensor expected(const Tensor& x, const Shape& kept) {
    Tensor total = reference::reduce(x, kept, each().start, each().combine);
    if (!each().mean) return total;
    const double count = static_cast<double>(x.elements()) / static_cast<double>(kept.elements());
    return reference::unary(total, [count](double value) { return value / count; });
  }
};

class ReductionOnTheCpu : public testing::TestWithParam<ReductionCase> {};

TEST_P(ReductionOperation, MatchesPlainLoopsOverAnyAxes) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const auto& [shape, axes] : reduced_axes) {
      SCOPED_TRACE(to_string(shape) + " over " + testing::PrintToString(axes));
      const Tensor x = here(factors(shape, dtype));
      const Tensor want = expected(x, with_ones(shape, axes));
      on_every_simd_target(device(), [&] {
        expect_close(each().over_axes(x, axes, {.keepdim = true}), want, dtype);
        const Tensor y = each().over_axes(x, axes, {});
        EXPECT_EQ(y.dtype(), dtype);
        expect_close(y, want.reshape(without(shape, axes)), dtype);
      });
    }
    const Tensor x = here(factors({3, 4, 11}, dtype));
    expect_close(each().over_all(x), expected(x, {1, 1, 1}).reshape(Shape{}), dtype);
    expect_close(each().over_all(here(full({}, 3, dtype))), full({}, 3, dtype));
  }
}

TEST_P(ReductionOperation, MatchesPlainLoopsOnSizesThatAreSplit) {
  for (const auto& [shape, axes] :
       {ReducedAxes{{140001}, {0}}, ReducedAxes{{70000, 3}, {0}}, ReducedAxes{{1100, 130}, {0}},
        ReducedAxes{{2, 70001}, {1}}, ReducedAxes{{3, 300, 2100}, {1}}, ReducedAxes{{9000}, {0}},
        ReducedAxes{{3000, 3}, {0}}, ReducedAxes{{2, 4100}, {1}}, ReducedAxes{{2, 700, 7}, {1}}}) {
    if (shape.elements() > most_elements()) continue;
    SCOPED_TRACE(to_string(shape) + " over " + testing::PrintToString(axes));
    const Tensor x = here(random_uniform(shape, 0.9995, 1.0005, DType::float64));
    expect_close(each().over_axes(x, axes, {.keepdim = true}), expected(x, with_ones(shape, axes)),
                 Tolerance{.relative = 1e-10});
  }
}

TEST_P(ReductionOperation, GradientMatchesFiniteDifferences) {
  for (const auto& [shape, axes] : reduced_axes) {
    if (shape.elements() > 200) continue;
    SCOPED_TRACE(to_string(shape) + " over " + testing::PrintToString(axes));
    const Tensor x = random_distinct(shape, DType::float64) * 0.1 + 1;
    const std::vector<int>& over = axes;
    expect_gradient([&](const auto& in) { return each().over_axes(in[0], over, {}); }, {x});
    expect_gradient([&](const auto& in) { return each().over_axes(in[0], over, {.keepdim = true}); }, {x});
  }
  expect_gradient([&](const auto& in) { return each().over_all(in[0]); }, {random_distinct({3, 4}, DType::float64)});
}

TEST_P(ReductionOnTheCpu, IsBitwiseEqualForOneTwoAndSevenThreads) {
  for (const auto& [shape, axes] :
       {ReducedAxes{{300000}, {0}}, ReducedAxes{{200000, 3}, {0}}, ReducedAxes{{3000, 130}, {0}},
        ReducedAxes{{3000, 130}, {1}}, ReducedAxes{{50, 60, 70}, {0, 2}}}) {
    SCOPED_TRACE(to_string(shape) + " over " + testing::PrintToString(axes));
    const Tensor x = random_tensor(shape);
    const std::vector<int>& over = axes;
    expect_same_bits_for_threads([&] {
      Tensor leaf = x.clone().set_requires_grad(true);
      const Tensor y = GetParam().over_axes(leaf, over, {});
      y.backward({.gradient = random_tensor(y.shape(), DType::float32, 2)});
      return std::vector<Tensor>{y.detach(), leaf.grad()};
    });
  }
}

TEST_P(ReductionOperation, ReducesIntegersExactly) {
  if (each().mean) {
    EXPECT_THROW(each().over_all(here(arange(3))), TypeError);
    return;
  }
  for (const DType dtype : {DType::int32, DType::int64}) {
    for (const auto& [shape, axes] :
         {ReducedAxes{{5, 7}, {0}}, ReducedAxes{{5, 7}, {1}}, ReducedAxes{{3, 4, 90}, {1}}}) {
      const Tensor x = here(random_tensor(shape, dtype));
      on_every_simd_target(device(), [&] {
        expect_close(each().over_axes(x, axes, {.keepdim = true}), expected(x, with_ones(shape, axes)));
      });
    }
  }
}

TEST_P(ReductionOperation, RefusesAxesThatAreNotThereOrNamedTwice) {
  const Tensor x = here(zeros({2, 3}));
  EXPECT_THAT([&] { each().over_axes(x, 2, {}); },
              testing::ThrowsMessage<ShapeError>(AllOf(HasSubstr(each().name), HasSubstr("axis 2"))));
  EXPECT_THAT(
      [&] {
        each().over_axes(x, {1, -1}, {});
      },
      testing::ThrowsMessage<ShapeError>(AllOf(HasSubstr("twice"), HasSubstr("[2, 3]"))));
}

TEST_P(ReductionOperation, RefusesBool) { EXPECT_THROW(each().over_all(here(zeros({2}, DType::boolean))), TypeError); }

TEST_P(ReductionOperation, GivesNoResultsForNoResults) {
  const Tensor y = each().over_axes(here(zeros({0, 3})).set_requires_grad(true), 1, {});
  EXPECT_EQ(y.shape(), Shape({0}));
  y.backward({.gradient = here(zeros({0}))});
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, ReductionOperation, every_device_with(reductions),
                         case_and_device<ReductionCase>);
INSTANTIATE_TEST_SUITE_P(Reduce, ReductionOnTheCpu, testing::ValuesIn(reductions),
                         [](const auto& each) { return each.param.name; });

class Reduce : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Reduce, testing::ValuesIn(every_device), device_name);

TEST_P(Reduce, SumAndProductOfNothingAreZeroAndOne) {
  expect_close(sum(here(zeros({0}))), zeros({}));
  expect_close(prod(here(zeros({0}))), ones({}));
  expect_close(sum(here(zeros({2, 0, 3})), 1), zeros({2, 3}));
  expect_close(prod(here(zeros({2, 0, 3})), 1), ones({2, 3}));
}

TEST_P(Reduce, ExtremesAndMeanOfNothingAreErrors) {
  const Tensor x = here(zeros({2, 0, 3}));
  EXPECT_THAT([&] { max(x, 1); }, testing::ThrowsMessage<ShapeError>(AllOf(HasSubstr("max"), HasSubstr("[2, 0, 3]"))));
  EXPECT_THROW(min(x), ShapeError);
  EXPECT_THROW(mean(x, 1), ShapeError);
  EXPECT_THROW(argmax(x, 1), ShapeError);
  EXPECT_THROW(argmax(here(zeros({0}))), ShapeError);
}

TEST(Reduce, SumOfTenMillionOnesIsExact) { EXPECT_EQ(sum(ones({10'000'000})).item<float>(), 1e7f); }

TEST(Reduce, SumOfTenMillionNumbersIsAccurate) {
  const Tensor x = random_uniform({10'000'000}, 0, 1), table = x.reshape({20'000, 500});
  const std::span<const float> values = x.span<float>();
  const double exact = std::accumulate(values.begin(), values.end(), 0.0);
  EXPECT_NEAR(sum(x).item<double>() / exact, 1, 1e-7);
  // Column by column, 20,000 terms each.
  std::vector<double> columns(500);
  for (std::size_t i = 0; i < values.size(); ++i) columns[i % 500] += values[i];
  expect_close(sum(table, 0), Tensor::from_vector(columns, {500}), Tolerance{.relative = 1e-6});
  expect_close(sum(sum(table, 1)), full({}, exact, DType::float64), Tolerance{.relative = 1e-6});
}

TEST_P(Reduce, MaxKeepsNaNAndGivesItTheGradient) {
  const std::vector<float> values{1, nan, 3, -1, 5, 2};
  on_every_simd_target(device(), [&] {
    Tensor x = here(Tensor::from_vector(values, {2, 3})).set_requires_grad(true);
    const Tensor y = max(x, 1);
    expect_close(y, std::vector<double>{nan, 5});
    expect_close(min(x, 1), std::vector<double>{nan, -1});
    expect_close(max(x.detach(), 0), std::vector<double>{1, nan, 3});
    y.backward({.gradient = here(ones({2}))});
    expect_close(x.grad(), std::vector<double>{0, 1, 0, 0, 1, 0});
  });
}

TEST_P(Reduce, MaxGivesTheGradientToTheFirstOfEquals) {
  for (const Axes& axes : {Axes{0, 2}, Axes{2, 0}, Axes{0, 1, 2}}) {
    Tensor x = here(zeros({2, 1, 3})).set_requires_grad(true);
    sum(max(x, axes)).backward();
    expect_close(x.grad(), std::vector<double>{1, 0, 0, 0, 0, 0});
  }
  // Equal from the second row on, in columns and in rows longer than a vector.
  for (const auto& [shape, axis, first] : {std::tuple<Shape, int, int>{{70, 40}, 0, 40}, {{2, 99}, 1, 99}}) {
    Tensor x = Tensor::empty(shape);
    for (std::int64_t i = 0; i < x.elements(); ++i) x.data<float>()[i] = i < first ? 0.0f : 1.0f;
    x = here(x).set_requires_grad(true);
    sum(max(x, axis)).backward();
    const std::vector<float> gradient = x.grad().to_vector<float>();
    EXPECT_EQ(gradient[first], 1);
    EXPECT_EQ(std::accumulate(gradient.begin(), gradient.end(), 0.0f), max(x, axis).elements());
  }
}

TEST_P(Reduce, ProductGradientIsRightBesideZeros) {
  Tensor x = here(Tensor::from_vector<double>({2, 0, 3, 0, 0, 5, 1, 2, 4}, {3, 3})).set_requires_grad(true);
  prod(x, 1).backward({.gradient = here(ones({3}, DType::float64))});
  expect_close(x.grad(), std::vector<double>{0, 6, 0, 0, 0, 0, 8, 4, 2});
}

TEST_P(Reduce, ArgmaxFindsTheFirstOfTheLargest) {
  for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::int64}) {
    for (const Shape& shape : {Shape{1}, Shape{45}, Shape{7, 3}, Shape{3, 33}, Shape{4, 5, 37}, Shape{2, 3000},
                               Shape{3000, 2}, Shape{2, 66000}, Shape{66000, 2}}) {
      if (shape.elements() > most_elements()) continue;
      const Tensor x = here(random_indices(shape, -20, 20, dtype));
      const std::vector<double> values = x.to_vector<double>();
      for (int axis = 0; axis < shape.rank(); ++axis) {
        SCOPED_TRACE(to_string(shape) + " axis " + std::to_string(axis));
        const Shape kept = shape.with(axis, 1);
        std::vector<double> best(kept.elements(), -infinity), where(kept.elements(), 0);
        for (std::int64_t i = 0; i < x.elements(); ++i) {
          const auto position = reference::position_of(i, shape);
          const std::int64_t target = reference::broadcast_index(position, kept);
          if (values[i] > best[target]) {
            best[target] = values[i];
            where[target] = static_cast<double>(position[axis]);
          }
        }
        on_every_simd_target(device(), [&] {
          const Tensor y = argmax(x, axis, {.keepdim = true});
          EXPECT_EQ(y.dtype(), DType::int64);
          expect_close(y, Tensor::from_vector(where, kept));
        });
      }
      EXPECT_EQ(argmax(x).item<std::int64_t>(), std::ranges::max_element(values) - values.begin());
    }
  }
  EXPECT_EQ(argmax(here(Tensor::from_vector<float>({1, nan, 7, nan}, {4}))).item<int>(), 1);
  EXPECT_EQ(argmax(here(zeros({3, 4})), -1).shape(), Shape({3}));
  EXPECT_THROW(argmax(here(zeros({3})), 1), ShapeError);
}

TEST_P(Reduce, BroadcastToRepeatsAndSumToShapeSumsBack) {
  const Tensor x = random_tensor({3, 1, 2}, DType::float64);
  const Shape shape{4, 3, 5, 2};
  expect_close(broadcast_to(here(x), shape), reference::binary(x, zeros(shape), [](double a, double) { return a; }));
  expect_gradient([&](const auto& in) { return broadcast_to(in[0], shape); }, {x});

  const Tensor y = random_tensor(shape, DType::float64);
  for (const Shape& target : {Shape{}, Shape{2}, Shape{3, 1, 2}, Shape{1, 1, 1, 1}, Shape{4, 1, 5, 1}, shape}) {
    expect_close(sum_to_shape(here(y), target),
                 reference::reduce(y, target, 0, [](double a, double b) { return a + b; }));
    expect_gradient([&](const auto& in) { return sum_to_shape(in[0], target); }, {y});
  }
  expect_close(sum_to_shape(here(zeros({0, 3})), {1, 3}), zeros({1, 3}));
  expect_close(broadcast_to(here(zeros({1, 3})), {0, 3}), zeros({0, 3}));
}

TEST_P(Reduce, BroadcastToRepeatsEveryType) {
  for (const DType dtype : {DType::float32, DType::int32, DType::int64, DType::boolean}) {
    const Tensor x = here(random_tensor({3, 1}, dtype));
    const Tensor y = broadcast_to(x, {3, 20});
    EXPECT_EQ(y.dtype(), dtype);
    expect_close(y, reference::binary(x, zeros({3, 20}), [](double a, double) { return a; }));
  }
}

TEST(Reduce, NamesBothShapesThatDoNotFit) {
  EXPECT_THAT(
      [] {
        broadcast_to(zeros({3, 2}), {3, 1});
      },
      testing::ThrowsMessage<ShapeError>(AllOf(HasSubstr("[3, 2]"), HasSubstr("[3, 1]"))));
  EXPECT_THAT(
      [] {
        sum_to_shape(zeros({3, 1}), {3, 2});
      },
      testing::ThrowsMessage<ShapeError>(AllOf(HasSubstr("[3, 1]"), HasSubstr("[3, 2]"))));
  EXPECT_THAT(
      [] {
        sum_to_shape(zeros({2}), {3, 2});
      },
      testing::ThrowsMessage<ShapeError>(AllOf(HasSubstr("[2]"), HasSubstr("[3, 2]"))));
}

}  // namespace
}  // namespace bough::test
