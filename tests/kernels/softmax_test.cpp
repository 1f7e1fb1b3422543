#include "bough/ops/softmax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bough/autograd/autograd.h"
#include "kernels/reference/softmax.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Extents {
  std::int64_t outer, length, inner;
};
/// No rows, no elements, one element, widths around those of the vectors, columns in and across tiles, rows of several
/// blocks and beyond the cache.
const std::vector<Extents> cases = {{0, 4, 1},  {3, 0, 1},     {1, 1, 1},    {5, 2, 1},     {7, 16, 1},
                                    {3, 17, 1}, {4, 67, 1},    {2, 9, 2},    {3, 5, 16},    {2, 33, 19},
                                    {1, 1, 40}, {300, 130, 1}, {2, 9001, 1}, {2, 70001, 1}, {1, 40000, 3}};

Tensor shaped(const Extents& c, const Tensor& x) { return x.reshape({c.outer, c.length, c.inner}); }

class Softmax : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Softmax, testing::ValuesIn(every_device), device_name);

TEST_P(Softmax, MatchesTheReferenceAlongEveryAxis) {
  on_every_simd_target(device(), [&] {
    for (const Extents& c : cases) {
      if (c.outer * c.length * c.inner > most_elements()) continue;
      for (DType dtype : {DType::float32, DType::float64}) {
        SCOPED_TRACE(testing::Message() << c.outer << ", " << c.length << ", " << c.inner);
        const Tensor x = here(shaped(c, random_tensor({c.outer * c.length * c.inner}, dtype)));
        const std::vector<double> values = x.to_vector<double>();
        expect_close(softmax(x, 1), reference::softmax(values, c.outer, c.length, c.inner));
        expect_close(log_softmax(x, 1), reference::log_softmax(values, c.outer, c.length, c.inner));
        if (c.inner == 1) {
          const Tensor rows = x.reshape({c.outer, c.length});
          expect_same_bits(softmax(rows).reshape(x.shape()), softmax(x, 1));
          expect_same_bits(log_softmax(rows, 1).reshape(x.shape()), log_softmax(x, 1));
        }
      }
    }
  });
}

TEST_P(Softmax, SmallProbabilitiesAreRightRelatively) {
  const Tensor x = here(random_uniform({10, 300}, -60, 0));
  expect_close(softmax(x), Tensor::from_vector(reference::softmax(x.to_vector<double>(), 10, 300, 1), {10, 300}),
               Tolerance{.relative = 2e-5, .absolute = 1e-37});
}

TEST_P(Softmax, SurvivesScoresOfTenThousand) {
  for (DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = here(random_uniform({6, 40}, -1e4, 1e4, dtype));
    const Tensor offset = here(random_uniform({6, 40}, 9999, 10001, dtype));
    for (const Tensor& scores : {x, offset}) {
      const std::vector<double> values = scores.to_vector<double>();
      expect_close(softmax(scores), reference::softmax(values, 6, 40, 1));
      expect_close(log_softmax(scores), reference::log_softmax(values, 6, 40, 1));
    }
  }
}

TEST_P(Softmax, AMaskedEntryIsZeroAndSoIsAFullyMaskedRow) {
  for (std::int64_t width : {3, 50, 5000, 70000}) {
    if (width > most_elements()) continue;
    Tensor x = full({2, width}, -inf);
    x.data<float>()[1] = 3;
    x.data<float>()[width - 1] = 3;
    x = here(x).set_requires_grad(true);
    std::vector<float> half(static_cast<std::size_t>(2 * width), 0);
    half[1] = half[width - 1] = 0.5f;
    const Tensor y = softmax(x), z = log_softmax(x);
    EXPECT_EQ(y.to_vector<float>(), half);
    y.backward({.gradient = here(random_tensor({2, width}))});
    for (float gradient : x.grad().rows(1, 2).to_vector<float>()) EXPECT_EQ(gradient, 0);
    for (float gradient : x.grad().to_vector<float>()) EXPECT_TRUE(std::isfinite(gradient));

    x.clear_grad();
    EXPECT_FLOAT_EQ(z.to_vector<float>()[1], -std::log(2.0f));
    for (float value : z.detach().rows(1, 2).to_vector<float>()) EXPECT_EQ(value, -inf);
    z.backward({.gradient = here(ones({2, width}))});
    for (float gradient : x.grad().rows(1, 2).to_vector<float>()) EXPECT_EQ(gradient, 0);
  }
}

TEST_P(Softmax, NaNAndInfinityStayInTheirRowAndAreNotTakenForAMask) {
  for (std::int64_t width : {2, 40, 9000, 70000}) {
    if (width > most_elements()) continue;
    for (double bad : {nan, inf}) {
      for (double others : {0.0, -inf}) {
        for (std::int64_t place : {std::int64_t{0}, width - 1}) {
          Tensor x = full({3, width}, others, DType::float64);
          x.rows(2, 3).fill(1);
          x.data<double>()[width + place] = bad;
          for (const Tensor& result : {softmax(here(x)), log_softmax(here(x))}) {
            const std::vector<double> y = result.to_vector<double>();
            EXPECT_TRUE(std::isnan(y[width + place]));
            EXPECT_FALSE(std::isnan(y[0]));
            EXPECT_TRUE(std::isfinite(y[2 * width]));
          }
          EXPECT_TRUE(std::isnan(softmax(here(x)).to_vector<double>()[width + 1 - (place == 0 ? 0 : 1)]));
        }
      }
    }
  }
}

TEST_P(Softmax, GradientsMatchFiniteDifferences) {
  const Tensor x = random_tensor({3, 5, 2}, DType::float64);
  for (int axis : {0, 1, 2, -1}) {
    expect_gradient([&](const auto& in) { return softmax(in[0], axis); }, {x});
    expect_gradient([&](const auto& in) { return log_softmax(in[0], axis); }, {x});
  }
  expect_gradient([](const auto& in) { return softmax(in[0]); }, {random_tensor({2, 19}, DType::float64)});
}

TEST(Softmax, IsBitwiseEqualForOneTwoAndSevenThreads) {
  Tensor x = random_tensor({300, 40, 17});
  const Tensor seed = random_tensor({300, 40, 17}, DType::float32, 2);
  x.set_requires_grad(true);
  for (int axis : {1, 2}) {
    for (auto* op : {&softmax, &log_softmax}) {
      expect_same_bits_for_threads([&] {
        x.clear_grad();
        const Tensor y = op(x, axis);
        y.backward({.gradient = seed});
        return std::vector<Tensor>{y.detach(), x.grad()};
      });
    }
  }
}

TEST(Softmax, NamesAxesAndTypesItDoesNotTake) {
  EXPECT_THAT([] { softmax(zeros({2, 3}), 2); }, ThrowsMessage<ShapeError>(HasSubstr("2")));
  EXPECT_THAT([] { log_softmax(zeros({})); }, ThrowsMessage<ShapeError>(HasSubstr("log_softmax")));
  EXPECT_THAT([] { softmax(arange(3)); }, ThrowsMessage<TypeError>(HasSubstr("int64")));
}

}  // namespace
}  // namespace bough
