#include "bough/autograd/recompute.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "bough/core/random.h"
#include "tests/autograd/operations.h"
#include "tests/support/compare.h"

namespace bough {
namespace {

using namespace tape_test;
using Values = std::vector<double>;
using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

Tensor plain(const Function& f, const Inputs& inputs) { return f(inputs); }

/// x times numbers from the default generator: what dropout does to the tape.
Tensor shake(const Tensor& x) {
  const RandomStream random = default_generator().next_stream();
  const auto times_random = [random](const Tensor& t) {
    return map(
        t, [&](std::int64_t i) { return t.data<double>()[i] * uniform_float(random(static_cast<std::uint64_t>(i))); });
  };
  return autograd::record(
      {.name = "shake",
       .inputs = {x},
       .backward = [times_random](const BackwardCall& call) -> Gradients { return {times_random(call.gradient())}; }},
      times_random(x));
}

/// A weight that two segments and the last operation share, a tensor with history that the second reads from outside,
/// an input that is read several times inside and once more afterwards: every order in which sums can go wrong.
template <typename Run>
Inputs gradients_of_a_tangle(const Run& run, bool retain = false) {
  manual_seed(3);
  const Tensor x = leaf({0.1, 1.7, -2.3, 1e-7}), w = leaf({1.1, -0.3, 0.7, 3.3});
  const Tensor outside = square(x);
  const Tensor first =
      run([w](const Inputs& in) { return add(shake(square(add(in[0], w))), add(in[0], w)); }, Inputs{add(x, outside)});
  const Tensor second =
      run([w, outside](const Inputs& in) { return add(square(in[0]), shake(add(add(in[0], square(w)), outside))); },
          Inputs{first});
  const Tensor loss = total(add(square(second), add(square(first), add(shake(outside), w))));
  if (retain) loss.backward({.retain_graph = true});
  loss.backward();
  return {loss.detach(), x.grad(), w.grad()};
}

TEST(Recompute, GivesTheSameGradientsBitForBit) {
  test::expect_same_bits(gradients_of_a_tangle(recompute), gradients_of_a_tangle(plain));
}

TEST(Recompute, CanGoBackwardTwiceIfTheGraphIsRetained) {
  test::expect_same_bits(gradients_of_a_tangle(recompute, true), gradients_of_a_tangle(plain, true));
}

TEST(Recompute, MayBeNested) {
  const auto nested = [](const Function& f, const Inputs& inputs) {
    const Function inner = [](const Inputs& in) { return square(in[0]); };
    return recompute([f, inner](const Inputs& in) { return add(recompute(f, in), recompute(inner, in)); }, inputs);
  };
  const auto expected = [](const Function& f, const Inputs& inputs) { return add(f(inputs), square(inputs[0])); };
  test::expect_same_bits(gradients_of_a_tangle(nested), gradients_of_a_tangle(expected));
}

TEST(Recompute, LeavesTheGeneratorWhereAPlainCallWould) {
  manual_seed(5);
  const Tensor loss = total(recompute([](const Inputs& in) { return shake(in[0]); }, {leaf({1, 2})}));
  EXPECT_EQ(default_generator().state().stream, 1u);
  default_generator().next_stream();
  loss.backward();
  EXPECT_EQ(default_generator().state().stream, 2u);
}

TEST(Recompute, RunsTheFunctionAgainOnlyInBackward) {
  int calls = 0;
  const Function f = [&calls](const Inputs& in) {
    ++calls;
    return square(in[0]);
  };
  const Tensor loss = total(recompute(f, {leaf({1})}));
  EXPECT_EQ(calls, 1);
  loss.backward();
  EXPECT_EQ(calls, 2);
  EXPECT_NE(misuse([&] { loss.backward(); }).find("run backward before"), std::string::npos);
  const NoGrad no_grad;
  EXPECT_FALSE(recompute(f, {leaf({1})}).requires_grad());
}

TEST(Recompute, OfWhatNeedsNoGradientKeepsNothing) {
  const Tensor x = Tensor::from_vector(Values{2}, {1});
  EXPECT_FALSE(recompute([](const Inputs& in) { return square(in[0]); }, {x}).requires_grad());
}

TEST(Recompute, PassesOnAnInputThatComesBackAsItIs) {
  const Tensor x = leaf({1, 2}), y = square(x);
  const Function same = [](const Inputs& in) { return in[0]; };
  EXPECT_TRUE(recompute(same, {x}).same_as(x));
  total(recompute(same, {y})).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{2, 4}));
}

TEST(Recompute, TakesInputsThatAreUndefinedOrNotUsed) {
  const Tensor x = leaf({3}), unused = square(leaf({1}));
  total(unused).backward();
  total(recompute([](const Inputs& in) { return in[2].defined() ? in[2] : square(in[0]); }, {x, unused, Tensor()}))
      .backward();
  EXPECT_EQ(x.grad().to_vector<double>(), Values{6}) << "the spent history of an unused input does not matter";
}

TEST(Recompute, HoldsOneSegmentAtATime) {
  constexpr std::int64_t width = 20'000, segments = 8, depth = 6, one_tensor = width * 8;
  const auto peak = [&](auto run) {
    Tensor x = full({width}, 1.0, DType::float64);
    x.set_requires_grad(true);
    const std::int64_t before = memory_statistics().bytes_now;
    reset_peak_memory();
    Tensor y = x;
    for (int segment = 0; segment < segments; ++segment) {
      y = run(
          [](const Inputs& in) {
            Tensor z = in[0];
            for (int i = 0; i < depth; ++i) z = square(z);
            return z;
          },
          Inputs{y});
    }
    total(y).backward();
    return memory_statistics().bytes_peak - before;
  };
  EXPECT_GT(peak(plain), segments * depth * one_tensor);
  // The inputs of the segments, one segment's inside, and a few gradients; blocks are rounded up by less than 25%.
  EXPECT_LT(peak(recompute), (segments + depth + 4) * one_tensor * 5 / 4);
}

TEST(Recompute, OfAHundredThousandSegmentsNeedsNoDeepStack) {
  const Tensor x = leaf({1});
  const auto chain = [&x] {
    Tensor y = x;
    for (int i = 0; i < 100'000; ++i) y = recompute([x](const Inputs& in) { return add(in[0], x); }, {y});
    return y;
  };
  chain();  // and is dropped without going backward
  total(chain()).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), Values{100'001});
}

TEST(Recompute, NoticesWhatWasWrittenInBetween) {
  for (const bool parameter : {false, true}) {
    Tensor x = leaf({1}), w = leaf({2});
    const Tensor loss = total(recompute([w](const Inputs& in) { return add(square(in[0]), w); }, {x}));
    {
      const NoGrad no_grad;
      (parameter ? w : x).fill(3);
    }
    EXPECT_NE(misuse([&] { loss.backward(); }).find("'recompute' needs for its gradient was written"),
              std::string::npos);
  }
}

TEST(Recompute, NoticesAnotherResultTheSecondTime) {
  int calls = 0;
  const Tensor x = leaf({1, 2}), constant = zeros({2}, DType::float64);
  const auto second = [&](const Tensor& result) {
    calls = 0;
    const Tensor y = recompute([&](const Inputs& in) { return calls++ == 0 ? square(in[0]) : result; }, {x});
    return misuse([&] { total(y).backward(); });
  };
  EXPECT_NE(second(square(leaf({1}))).find("gave float64 [2] before and float64 [1]"), std::string::npos);
  EXPECT_NE(second(constant).find("needs no gradient"), std::string::npos);
  EXPECT_NE(second({}).find("nothing when it was run again"), std::string::npos);
  EXPECT_NE(misuse([&] { recompute([](const Inputs&) { return Tensor(); }, {x}); }).find("undefined"),
            std::string::npos);
}

}  // namespace
}  // namespace bough
