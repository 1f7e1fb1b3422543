#include "kernels/reference/elementwise.h"

#include <gtest/gtest.h>

#include "kernels/broadcast.h"
#include "kernels/cpu/unary.h"
#include "kernels/functors/binary.h"
#include "kernels/reference/dropout.h"
#include "kernels/simt/binary.h"
#include "kernels/simt/dropout.h"
#include "kernels/simt/unary.h"
#include "tests/emulator/engine/queue.h"
#include "tests/emulator/for_float_types.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using emulator::Queue;

TEST(EmulatedDropout, DropsWhatTheDefinitionDrops) {
  test::for_float_types([]<typename T>(TypeTag<T>) {
    for (const std::int64_t count : {1, 6, 4096, 4099}) {
      for (const double p : {0.0, 0.3, 1.0}) {
        const Tensor x = test::random_tensor({count + 1}, dtype_of<T>(), 1);
        for (const std::int64_t start : {0, 1}) {  // in packs and not
          Tensor y = empty_like(x);
          const RandomStream stream{7, 3};
          Queue queue;
          simt::dropout(queue, count, x.data<T>() + start, p, stream, y.data<T>() + start);
          std::vector<double> values = x.to_vector<double>();
          const std::vector<double> expected =
              p == 1 ? std::vector<double>(static_cast<std::size_t>(count))
                     : reference::dropout({values.begin() + start, values.begin() + start + count}, p, stream);
          for (std::int64_t i = 0; i < count; ++i) {
            ASSERT_NEAR(y.data<T>()[start + i], expected[static_cast<std::size_t>(i)], 1e-6) << i;
          }
        }
      }
    }
  });
}

TEST(EmulatedElementwise, UnaryFunctionsAndGradientsMatchTheCpu) {
  test::for_float_types([]<typename T>(TypeTag<T>) {
    for (int number = 0; number <= static_cast<int>(UnaryFunction::gelu_tanh); ++number) {
      const auto function = static_cast<UnaryFunction>(number);
      SCOPED_TRACE(number);
      const bool positive = function == UnaryFunction::sqrt || function == UnaryFunction::rsqrt ||
                            function == UnaryFunction::log || function == UnaryFunction::pow;
      const UnaryParameters parameters =
          function == UnaryFunction::clamp ? UnaryParameters{-0.5, 0.7} : UnaryParameters{1.7, 0};
      const Tensor x = test::random_uniform({300}, positive ? 0.1 : -6, 6, dtype_of<T>(), 1);
      const Tensor dy = test::random_tensor({300}, dtype_of<T>(), 2);
      Tensor y = empty_like(x), cpu_y = empty_like(x), dx = empty_like(x), cpu_dx = empty_like(x);
      Queue queue;
      simt::unary(queue, function, parameters, x.data<T>(), y.data<T>(), 300);
      unary(Cpu{}, function, parameters, x.data<T>(), cpu_y.data<T>(), 300);
      test::expect_close(y, cpu_y);
      const T* saved = saves_result(function) ? std::as_const(cpu_y).data<T>() : x.data<T>();
      simt::unary_backward(queue, function, parameters, saved, dy.data<T>(), dx.data<T>(), 300);
      unary_backward(Cpu{}, function, parameters, saved, dy.data<T>(), cpu_dx.data<T>(), 300);
      test::expect_close(dx, cpu_dx);
    }
  });
}

TEST(EmulatedElementwise, GatesStayFiniteAtInfinity) {
  for (const UnaryFunction function : {UnaryFunction::silu, UnaryFunction::gelu, UnaryFunction::gelu_tanh}) {
    EXPECT_EQ(scalar::value(function, 0.0f, 0.0f, -INFINITY), 0.0f);
    EXPECT_EQ(scalar::value(function, 0.0f, 0.0f, INFINITY), INFINITY);
    EXPECT_EQ(scalar::gradient(function, 0.0f, 0.0f, -INFINITY, 1.0f), 0.0f);
    EXPECT_EQ(scalar::gradient(function, 0.0f, 0.0f, INFINITY, 1.0f), 1.0f);
  }
}

TEST(EmulatedElementwise, BinaryFunctionsBroadcast) {
  for (const auto& [a_shape, b_shape] :
       {std::pair<Shape, Shape>{{3, 4}, {3, 4}}, {{2, 1, 5}, {3, 1}}, {{}, {7}}, {{2, 3, 4}, {1, 4}}, {{0, 3}, {3}}}) {
    const Tensor a = test::random_tensor(a_shape, DType::float64, 1),
                 b = test::random_tensor(b_shape, DType::float64, 2);
    const Shape shape = broadcast_shapes("test", a_shape, b_shape);
    Tensor result = Tensor::empty(shape, DType::float64);
    Queue queue;
    simt::binary(queue, scalar::Binary{BinaryFunction::sub}, broadcast_layout<2>(shape, {a_shape, b_shape}),
                 a.data<double>(), b.data<double>(), result.data<double>());
    test::expect_close(result, reference::binary(a, b, std::minus<>()));
  }
}

}  // namespace
}  // namespace bough
