#include "bough/autograd/gradcheck.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/autograd/operations.h"

namespace bough {
namespace {

using namespace tape_test;

TEST(Gradcheck, AcceptsARightGradient) {
  const auto f = [](const std::vector<Tensor>& x) { return add(square(x[0]), x[1]); };
  const GradcheckResult result = gradcheck(f, {leaf({1, -2, 30}), leaf({4, 5, 6})});
  EXPECT_TRUE(result) << result.report;
  EXPECT_LT(result.largest_error, 1e-7);
}

TEST(Gradcheck, FindsAWrongGradientAndSaysWhere) {
  const auto f = [](const std::vector<Tensor>& x) {
    return autograd::record({.name = "wrong",
                             .inputs = {x[0]},
                             .backward = [](const BackwardCall& call) -> Gradients { return {call.gradient()}; }},
                            square(x[0].detach()));
  };
  const GradcheckResult result = gradcheck(f, {leaf({0.5, 2})});
  EXPECT_FALSE(result);
  EXPECT_NE(result.report.find("element 1"), std::string::npos) << result.report;
}

TEST(Gradcheck, FindsAMissingGradientAndNaN) {
  EXPECT_FALSE(gradcheck([](const std::vector<Tensor>& x) { return square(x[0].detach()); }, {leaf({1})}));
  const auto nan = [](const std::vector<Tensor>& x) {
    return autograd::record({.name = "nan",
                             .inputs = {x[0]},
                             .backward = [](const BackwardCall& call) -> Gradients {
                               return {full(call.gradient().shape(), std::nan(""), DType::float64)};
                             }},
                            x[0].detach().clone());
  };
  EXPECT_FALSE(gradcheck(nan, {leaf({1})}));
}

TEST(Gradcheck, WantsFloat64) {
  EXPECT_THROW(gradcheck([](const std::vector<Tensor>& x) { return x[0]; }, {ones({2})}), TypeError);
}

}  // namespace
}  // namespace bough
