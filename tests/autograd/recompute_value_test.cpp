// Values that backward makes again against values that are kept: the same bits, in less memory.
#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "bough/autograd/recompute.h"
#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "bough/core/random.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/dropout.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"
#include "tests/support/peak_memory.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

Tensor plain(const Function& f, const Inputs& inputs) { return f(inputs); }

Tensor trained(const Shape& shape, std::uint64_t seed) {
  Tensor x = test::random_tensor(shape, DType::float64, seed);
  x.set_requires_grad(true);
  return x;
}

/// Values made from values, an operation that keeps its own result (exp), one that draws random numbers, a value read
/// several times and through a view.
template <typename Run>
Inputs gradients_of_a_chain(const Run& run, bool retain = false) {
  manual_seed(3);
  const Tensor x = trained({6, 4}, 1), w = trained({6, 4}, 2);
  const Tensor grown = run([](const Inputs& in) { return exp(in[0] * in[1]); }, {x, w});
  const Tensor dropped = run([](const Inputs& in) { return dropout(in[0], 0.5); }, {grown});
  const Tensor mixed = run([](const Inputs& in) { return (in[0] * in[1] + in[0]).reshape({4, 6}); }, {dropped, grown});
  const Tensor loss = sum(square(mixed)) + sum(mixed.reshape({6, 4}) * w) + sum(square(dropped));
  if (retain) loss.backward({.retain_graph = true});
  loss.backward();
  return {loss.detach(), x.grad(), w.grad()};
}

TEST(RecomputeValue, GivesTheSameGradientsBitForBit) {
  test::expect_same_bits(gradients_of_a_chain(recompute_value), gradients_of_a_chain(plain));
}

TEST(RecomputeValue, CanGoBackwardTwiceIfTheGraphIsRetained) {
  test::expect_same_bits(gradients_of_a_chain(recompute_value, true), gradients_of_a_chain(plain, true));
}

TEST(RecomputeValue, InsideASegmentThatIsRecomputed) {
  const auto nested = [](const Function& f, const Inputs& inputs) {
    return recompute([f](const Inputs& in) { return recompute_value(f, in); }, inputs);
  };
  test::expect_same_bits(gradients_of_a_chain(nested), gradients_of_a_chain(plain));
}

/// Peak of `steps` exponentials, all from one input; each keeps its result for its gradient.
template <typename Run>
std::int64_t peak_of(const Run& run) {
  const Tensor x = trained({1 << 14}, 1);
  return test::peak_bytes([&] {
    Tensor total;
    for (int i = 0; i < 16; ++i) {
      const Tensor term = sum(run([](const Inputs& in) { return exp(in[0]); }, {x}));
      total = total.defined() ? total + term : term;
    }
    total.backward();
  });
}

TEST(RecomputeValue, FreesEachValueBeforeTheNextIsMade) {
  constexpr std::int64_t value = (1 << 14) * sizeof(double);
  EXPECT_GE(peak_of(plain), 16 * value);
  EXPECT_LE(peak_of(recompute_value), 5 * value);
}

TEST(RecomputeValue, IsThePlainCallUnderNoGrad) {
  int calls = 0;
  const NoGrad no_grad;
  recompute_value(
      [&calls](const Inputs& in) {
        ++calls;
        return exp(in[0]);
      },
      {trained({3}, 1)});
  EXPECT_EQ(calls, 1);
}

TEST(RecomputeValue, RefusesAnInputWrittenInPlace) {
  const Tensor x = trained({3}, 1);
  Tensor scale = test::random_tensor({3}, DType::float64, 2);
  const Tensor loss = sum(recompute_value([](const Inputs& in) { return exp(in[0] * in[1]); }, {x, scale}));
  scale.fill(1);
  EXPECT_THROW(loss.backward(), AutogradError);
}

TEST(RecomputeValue, RefusesAFunctionThatGivesAnotherShapeTheNextTime) {
  const Tensor x = trained({4}, 1);
  int calls = 0;
  const Tensor y = recompute_value(
      [&calls](const Inputs& in) {
        return exp(++calls == 1 ? in[0] : in[0].reshape({2, 2}));
      },
      {x});
  try {
    sum(y).backward();
    FAIL() << "nothing was thrown";
  } catch (const AutogradError& error) {
    EXPECT_NE(std::string(error.what()).find("[2, 2]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace bough
