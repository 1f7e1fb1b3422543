#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "bough/core/memory.h"
#include "tests/autograd/operations.h"

namespace bough {
namespace {

using namespace tape_test;
using Values = std::vector<double>;

TEST(Backward, FollowsAChain) {
  const Tensor x = leaf({1, 2, 3});
  total(square(square(x))).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{4, 32, 108}));
}

TEST(Backward, AddsWhatComesFromSeveralUses) {
  const Tensor x = leaf({1, 2});
  const Tensor y = square(x);
  total(add(y, add(y, x))).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{5, 9}));
}

TEST(Backward, GradientsAccumulateUntilCleared) {
  Tensor x = leaf({1, 2});
  total(square(x)).backward();
  const Tensor first = x.grad();
  total(square(x)).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{4, 8}));
  EXPECT_EQ(first.to_vector<double>(), (Values{2, 4})) << "a gradient that the caller holds does not change later";
  x.clear_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Backward, TheSameGradientForTwoLeavesIsNotShared) {
  const Tensor a = leaf({1}), b = leaf({2});
  total(add(a, b)).backward();
  total(square(a)).backward();
  EXPECT_EQ(a.grad().to_vector<double>(), Values{3});
  EXPECT_EQ(b.grad().to_vector<double>(), Values{1});
}

TEST(Backward, TakesASeedForSeveralElements) {
  const Tensor x = leaf({1, 2});
  Tensor seed = Tensor::from_vector(Values{10, 100}, {2});
  square(x).backward({.gradient = seed});
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{20, 400}));
  const Tensor y = leaf({5, 6});
  y.backward({.gradient = seed});
  seed.fill(0);
  EXPECT_EQ(y.grad().to_vector<double>(), (Values{10, 100})) << "the caller's seed stays the caller's";
}

TEST(Backward, NonScalarWithoutASeedIsAnError) {
  const Tensor x = leaf({1, 2});
  EXPECT_NE(misuse([&] { square(x).backward(); }).find("[2]"), std::string::npos);
  EXPECT_NE(misuse([&] { square(x).backward({.gradient = ones({3}, DType::float64)}); }).find("[3]"),
            std::string::npos);
}

TEST(Backward, TwiceIsAnErrorUnlessRetained) {
  const Tensor x = leaf({3});
  const Tensor loss = total(square(x));
  loss.backward({.retain_graph = true});
  loss.backward();
  EXPECT_EQ(x.grad().to_vector<double>(), Values{12});
  EXPECT_NE(misuse([&] { loss.backward(); }).find("retain_graph"), std::string::npos);
  EXPECT_EQ(x.grad().to_vector<double>(), Values{12}) << "the failed call added nothing";
}

TEST(Backward, ASharedPartThatWasReleasedIsFoundBeforeAnythingIsAdded) {
  const Tensor x = leaf({3}), z = leaf({4});
  const Tensor shared = square(x);
  total(shared).backward();
  const Tensor second = total(add(square(z), shared));
  EXPECT_NE(misuse([&] { second.backward(); }).find("square"), std::string::npos);
  EXPECT_FALSE(z.grad().defined());
}

TEST(Backward, AnOverwrittenSavedTensorIsAnError) {
  Tensor x = leaf({3});
  const Tensor loss = total(square(x));
  {
    const NoGrad no_grad;
    x.fill(5);
  }
  const std::string text = misuse([&] { loss.backward(); });
  EXPECT_NE(text.find("square"), std::string::npos) << text;
  EXPECT_NE(text.find("in place"), std::string::npos) << text;
}

TEST(Backward, WithoutAnyHistoryIsAnError) {
  EXPECT_NE(misuse([] { ones({}).backward(); }).find("requires a gradient"), std::string::npos);
}

TEST(InPlace, LeavesNeedNoGradAndRecordedTensorsRefuse) {
  Tensor x = leaf({3});
  EXPECT_NE(misuse([&] { x.fill(1); }).find("NoGrad"), std::string::npos);
  Tensor y = square(x);
  EXPECT_NE(misuse([&] { y.fill(1); }).find("detach"), std::string::npos);
  const NoGrad no_grad;
  x.accumulate(ones({1}, DType::float64), -1);
  EXPECT_EQ(x.to_vector<double>(), Values{2});
}

TEST(NoGrad, RecordsNothingAndNests) {
  const Tensor x = leaf({3});
  {
    const NoGrad outer;
    { const NoGrad inner; }
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE(square(x).requires_grad());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE(square(x).requires_grad());
}

TEST(NoGrad, IsForItsOwnThreadOnly) {
  const NoGrad no_grad;
  bool elsewhere = false;
  std::thread([&] { elsewhere = grad_enabled(); }).join();
  EXPECT_TRUE(elsewhere);
}

TEST(Detach, CutsTheHistory) {
  const Tensor x = leaf({3});
  total(add(square(x.detach()), x)).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), Values{1});
}

TEST(Record, KeepsNothingWhereNothingRequiresAGradient) {
  const std::int64_t before = memory_statistics().bytes_now;
  Tensor y;
  {
    const Tensor x = Tensor::from_vector(Values{1, 2}, {2});
    y = square(x);
  }
  EXPECT_TRUE(y.is_leaf());
  EXPECT_EQ(memory_statistics().bytes_now - before, 64) << "only y itself";
}

TEST(Record, BuffersGoAsSoonAsBackwardIsDoneWithThem) {
  const std::int64_t before = memory_statistics().bytes_now;
  const Tensor x = leaf(Values(1024, 1.0));
  Tensor loss = total(square(square(square(x))));
  const std::int64_t recorded = memory_statistics().bytes_now;
  loss.backward();
  EXPECT_LT(memory_statistics().bytes_now, recorded) << "two intermediate results went, one gradient came";
  loss = {};
  EXPECT_EQ(memory_statistics().bytes_now - before, 2 * 8192) << "x and its gradient";
}

TEST(Record, AHundredThousandOperationsDoNotOverflowTheStack) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = add(y, x);
  y.backward();
  EXPECT_EQ(x.grad().to_vector<double>(), Values{100001});
  Tensor never_run = x;
  for (int i = 0; i < 100000; ++i) never_run = add(never_run, x);
  never_run = {};
}

TEST(Views, PassGradientsToWhatTheyLookAt) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6});
  total(square(x.reshape({3, 2}).rows(1, 2))).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{0, 0, 6, 8, 0, 0}));
  const Tensor y = leaf({2});
  total(y.clone().to(Device::cpu())).backward();
  EXPECT_EQ(y.grad().to_vector<double>(), Values{1});
}

TEST(RequiresGrad, IsForFloatingLeavesOnly) {
  EXPECT_NE(misuse([] { arange(3).set_requires_grad(true); }).find("int64"), std::string::npos);
  Tensor y = square(leaf({1}));
  EXPECT_NE(misuse([&] { y.set_requires_grad(false); }).find("square"), std::string::npos);
}

TEST(CustomFunction, RunsTheUsersForwardAndBackward) {
  const CustomFunction cube{
      .forward =
          [](const std::vector<Tensor>& in) {
            return map(in[0], [&](std::int64_t i) { return std::pow(in[0].data<double>()[i], 3); });
          },
      .backward = [](const std::vector<Tensor>& in, const Tensor&, const Tensor& dy) -> std::vector<Tensor> {
        return {map(dy, [&](std::int64_t i) {
          return 3 * in[0].data<double>()[i] * in[0].data<double>()[i] * dy.data<double>()[i];
        })};
      },
      .name = "cube"};
  const Tensor x = leaf({2, 3});
  total(square(cube.apply({x}))).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{6 * 32, 6 * 243}));
}

TEST(CustomFunction, AGradientOfTheWrongShapeOrNumberIsNamed) {
  CustomFunction wrong{.forward = [](const std::vector<Tensor>& in) { return in[0]; },
                       .backward = [](const std::vector<Tensor>&, const Tensor&, const Tensor&) -> std::vector<Tensor> {
                         return {ones({7}, DType::float64)};
                       },
                       .name = "wrong shape"};
  const Tensor x = leaf({2, 3});
  const std::string shape = misuse([&] { total(wrong.apply({x})).backward(); });
  EXPECT_NE(shape.find("wrong shape"), std::string::npos) << shape;
  EXPECT_NE(shape.find("[7]"), std::string::npos) << shape;
  wrong.backward = [](const std::vector<Tensor>&, const Tensor&, const Tensor&) -> std::vector<Tensor> { return {}; };
  EXPECT_NE(misuse([&] { total(wrong.apply({x})).backward(); }).find("0 gradients"), std::string::npos);
}

TEST(CustomFunction, WithoutBackwardTakesOnlyInputsThatNeedNoGradient) {
  const CustomFunction same{
      .forward = [](const std::vector<Tensor>& in) { return in[0]; }, .backward = {}, .name = "same"};
  EXPECT_NO_THROW(same.apply({ones({2}, DType::float64)}));
  EXPECT_NE(misuse([&] { same.apply({leaf({2, 3})}); }).find("no backward function"), std::string::npos);
  const CustomFunction nothing{.forward = {}, .backward = {}, .name = "nothing"};
  EXPECT_NE(misuse([&] { nothing.apply({}); }).find("no forward function"), std::string::npos);
}

TEST(Record, SeveralOutputsShareOneNode) {
  const Tensor x = leaf({1, 2});
  const std::vector<Tensor> parts = autograd::record(
      {.name = "twice and thrice",
       .inputs = {x},
       .backward = [](const BackwardCall& call) -> Gradients {
         return {map(call.gradient(0), [&](std::int64_t i) {
           return 2 * call.gradient(0).data<double>()[i] + 3 * call.gradient(1).data<double>()[i];
         })};
       }},
      std::vector<Tensor>{Tensor::from_vector(Values{2, 4}, {2}), Tensor::from_vector(Values{3, 6}, {2})});
  total(parts[1]).backward({.retain_graph = true});
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{3, 3})) << "an unused output counts as zero";
  total(add(parts[0], parts[1])).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{8, 8}));
}

}  // namespace
}  // namespace bough
