#include "kernels/cpu/layer_norm.h"

#include <gtest/gtest.h>

#include "kernels/reference/elementwise.h"
#include "kernels/reference/layer_norm.h"
#include "kernels/simt/layer_norm.h"
#include "kernels/views.h"
#include "tests/emulator/engine/queue.h"
#include "tests/emulator/for_float_types.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using emulator::Queue;

TEST(EmulatedLayerNorm, MatchesTheReferenceForAnyWidth) {
  test::for_float_types([]<typename T>(TypeTag<T>) {
    for (const std::int64_t width : {1, 5, 32, 100}) {
      const DType dtype = dtype_of<T>();
      const Tensor x = test::random_tensor({9, width}, dtype, 1), residual = test::random_tensor({9, width}, dtype, 2);
      const Tensor weight = test::random_tensor({width}, dtype, 3), bias = test::random_tensor({width}, dtype, 4);
      Tensor y = empty_like(x), sum = empty_like(x), statistics = Tensor::empty({9, 2}, dtype);
      Queue queue;
      simt::layer_norm(
          queue, simt::LayerNorm<T>{9, width, x.data<T>(), residual.data<T>(), weight.data<T>(), bias.data<T>(), 1e-5,
                                    sum.data<T>(), y.data<T>(), statistics.data<T>()});
      test::expect_close(y, reference::layer_norm(sum.to_vector<double>(), weight.to_vector<double>(),
                                                  bias.to_vector<double>(), 1e-5));
      test::expect_close(sum, reference::binary(x, residual, std::plus<>()));
    }
  });
}

TEST(EmulatedLayerNorm, GradientsMatchTheCpuAlsoOverManyRows) {
  test::for_float_types([]<typename T>(TypeTag<T>) {
    for (const auto& [rows, width] : {std::pair<std::int64_t, std::int64_t>{1, 7}, {150, 33}, {5, 130}}) {
      const DType dtype = dtype_of<T>();
      const Tensor x = test::random_tensor({rows, width}, dtype, 1), weight = test::random_tensor({width}, dtype, 3);
      const Tensor dy = test::random_tensor({rows, width}, dtype, 4),
                   dsum = test::random_tensor({rows, width}, dtype, 5);
      const Tensor bias = test::random_tensor({width}, dtype, 6);
      Tensor y = empty_like(x), statistics = Tensor::empty({rows, 2}, dtype);
      layer_norm(Cpu{}, rows_of<T>(x), static_cast<const T*>(nullptr), weight.data<T>(), bias.data<T>(), 1e-5,
                 static_cast<T*>(nullptr), y.data<T>(), rows_of<T>(statistics));
      Tensor dx = empty_like(x), dweight = empty_like(weight), dbias = empty_like(weight);
      Tensor cpu_dx = empty_like(x), cpu_dweight = empty_like(weight), cpu_dbias = empty_like(weight);
      layer_norm_backward(Cpu{}, rows_of<T>(x), weight.data<T>(), rows_of<T>(std::as_const(statistics)), dy.data<T>(),
                          dsum.data<T>(),
                          LayerNormGradients<T>{cpu_dx.data<T>(), cpu_dweight.data<T>(), cpu_dbias.data<T>()});
      Queue queue;
      simt::layer_norm_backward(
          queue,
          simt::LayerNormInputBackward<T>{rows, width, x.data<T>(), weight.data<T>(), statistics.data<T>(),
                                          dy.data<T>(), dsum.data<T>(), dx.data<T>()},
          dweight.data<T>(), dbias.data<T>());
      test::expect_close(dx, cpu_dx);
      test::expect_close(dweight, cpu_dweight);
      test::expect_close(dbias, cpu_dbias);
    }
  });
}

TEST(EmulatedLayerNorm, ReadsARowThreeTimesAndWritesItOnce) {
  const std::int64_t rows = 5, width = 64, sectors = width * 4 / 32;
  const Tensor x = test::random_tensor({rows, width}), residual = test::random_tensor({rows, width});
  const Tensor weight = test::random_tensor({width}), bias = test::random_tensor({width});
  Tensor y = empty_like(x), sum = empty_like(x), statistics = Tensor::empty({rows, 2});
  Queue queue;
  simt::layer_norm(queue, simt::LayerNorm<float>{rows, width, x.data<float>(), residual.data<float>(),
                                                 weight.data<float>(), bias.data<float>(), 1e-5, sum.data<float>(),
                                                 y.data<float>(), statistics.data<float>()});
  EXPECT_EQ(queue.traffic().load_sectors, rows * (3 * 2 * sectors + 2 * sectors)) << "x, residual; weight, bias";
  EXPECT_EQ(queue.traffic().store_sectors, rows * (2 * sectors + 2)) << "sum, y, two statistics";
}

TEST(EmulatedLayerNorm, ReadsARowAndItsGradientThreeTimesBackward) {
  const std::int64_t rows = 64, width = 64, sectors = width * 4 / 32, warps = width / simt::warp_size;
  const Tensor x = test::random_tensor({rows, width}), dy = test::random_tensor({rows, width});
  const Tensor weight = test::random_tensor({width}), statistics = test::random_uniform({rows, 2}, 1, 2);
  Tensor dx = empty_like(x), dweight = empty_like(weight), dbias = empty_like(weight);
  Queue queue;
  simt::layer_norm_backward(
      queue,
      simt::LayerNormInputBackward<float>{rows, width, x.data<float>(), weight.data<float>(), statistics.data<float>(),
                                          dy.data<float>(), nullptr, dx.data<float>()},
      dweight.data<float>(), dbias.data<float>());
  // Twice with the weight for dx, once for the parameters, whose sums of the one range of rows are read again.
  EXPECT_EQ(queue.traffic().load_sectors,
            rows * (2 * 3 * sectors + 2) + rows * (2 * sectors + 2 * warps) + 2 * sectors);
  EXPECT_EQ(queue.traffic().store_sectors, rows * sectors + 2 * 2 * sectors);
}

}  // namespace
}  // namespace bough
