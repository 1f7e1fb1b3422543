#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cast.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using namespace bough::test;

/// Two dense layers trained by plain gradient descent on all samples at once; gives the last loss.
double train(Activation activation, const Tensor& inputs, const Tensor& targets, double rate, int steps) {
  std::vector<Tensor> parameters = {random_tensor({16, 2}, inputs.dtype(), 1), zeros({16}, inputs.dtype()),
                                    random_tensor({1, 16}, inputs.dtype(), 2), zeros({1}, inputs.dtype())};
  for (Tensor& parameter : parameters) parameter.set_requires_grad(true);
  double last = 0;
  for (int step = 0; step < steps; ++step) {
    const Tensor hidden = linear(inputs, parameters[0], parameters[1], activation);
    const Tensor loss = sum(square(linear(hidden, parameters[2], parameters[3]) - targets));
    loss.backward();
    last = loss.item<double>();
    const NoGrad no_grad;
    for (Tensor& parameter : parameters) {
      parameter.accumulate(parameter.grad(), -rate);
      parameter.clear_grad();
    }
  }
  return last;
}

TEST(TwoLayerNetwork, LearnsExclusiveOrToNearZeroLoss) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor inputs = cast(Tensor::from_vector<double>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2}), dtype);
    const Tensor targets = cast(Tensor::from_vector<double>({0, 1, 1, 0}, {4, 1}), dtype);
    for (const Activation activation : {Activation::relu, Activation::gelu}) {
      EXPECT_LT(train(activation, inputs, targets, 0.01, 2000), 1e-6);
    }
    EXPECT_GT(train(Activation::none, inputs, targets, 0.01, 2000), 0.9) << "no straight line separates the classes";
  }
}

}  // namespace
}  // namespace bough
