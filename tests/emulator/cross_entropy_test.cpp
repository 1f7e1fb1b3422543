#include "kernels/cpu/cross_entropy.h"

#include <gtest/gtest.h>

#include "kernels/reference/cross_entropy.h"
#include "kernels/simt/cross_entropy.h"
#include "kernels/views.h"
#include "tests/emulator/engine/queue.h"
#include "tests/emulator/for_float_types.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using emulator::Queue;

class EmulatedCrossEntropy : public testing::TestWithParam<double> {};

TEST_P(EmulatedCrossEntropy, MatchesTheReferenceAndTheGradientOfTheCpu) {
  test::for_float_types([]<typename T>(TypeTag<T>) {
    const std::int64_t rows = 11, width = 50;
    Tensor logits = test::random_tensor({rows, width}, dtype_of<T>(), 1);
    for (std::int64_t i = 0; i < width; ++i) logits.data<T>()[3 * width + i] = T(1e4) + static_cast<T>(i);
    const Tensor classes = test::random_indices({rows}, 0, width, DType::int64, 2);
    Tensor targets = classes.clone();
    targets.data<std::int64_t>()[5] = -100;
    const double smoothing = GetParam();
    Tensor losses = Tensor::empty({rows}, dtype_of<T>()), normalizers = zeros({rows, 2}, dtype_of<T>());
    Tensor gradient = empty_like(logits), expected = empty_like(logits);
    const simt::ClassTargetView view{targets.data<std::int64_t>(), -100, smoothing};
    double total = 0;
    Queue queue;
    simt::cross_entropy(
        queue, simt::CrossEntropy<T>{rows, width, logits.data<T>(), view, losses.data<T>(), normalizers.data<T>()},
        &total);
    const std::vector<double> reference =
        reference::cross_entropy(logits.to_vector<double>(), width, targets.to_vector<std::int64_t>(), -100, smoothing);
    test::expect_close(losses, reference);
    double sum = 0;
    for (const double loss : losses.to_vector<double>()) sum += loss;
    EXPECT_NEAR(total, sum, 1e-9 * sum);

    const Tensor dy = test::random_tensor({rows}, dtype_of<T>(), 3);
    simt::cross_entropy_backward(
        queue, simt::CrossEntropyBackward<T>{rows, width, logits.data<T>(), view, normalizers.data<T>(), dy.data<T>(),
                                             false, 0.5, gradient.data<T>()});
    cross_entropy_backward(Cpu{}, rows_of<T>(std::as_const(logits)),
                           ClassTargets{targets.span<std::int64_t>(), -100, smoothing},
                           rows_of<T>(std::as_const(normalizers)), dy.span<T>(), 0.5, rows_of<T>(expected));
    test::expect_close(gradient, expected);
  });
}
INSTANTIATE_TEST_SUITE_P(Smoothing, EmulatedCrossEntropy, testing::Values(0.0, 0.1, 1.0));

TEST(EmulatedCrossEntropy, OfARowOfMinusInfinityIsInfiniteWithoutNaN) {
  const Tensor logits = Tensor::from_vector<float>({-INFINITY, -INFINITY, -INFINITY}, {1, 3});
  const std::int64_t target = 1;
  float loss = 0, normalizers[2], gradient[3], dy = 1;
  double total = 0;
  Queue queue;
  simt::cross_entropy(queue, simt::CrossEntropy<float>{1, 3, logits.data<float>(), {&target}, &loss, normalizers},
                      &total);
  EXPECT_EQ(loss, INFINITY);
  simt::cross_entropy_backward(queue, simt::CrossEntropyBackward<float>{
                                          1, 3, logits.data<float>(), {&target}, normalizers, &dy, true, 1, gradient});
  EXPECT_EQ(gradient[0], 0);
  EXPECT_EQ(gradient[1], -1);
}

}  // namespace
}  // namespace bough
