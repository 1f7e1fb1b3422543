#include "kernels/simt/gemm.h"

#include <gtest/gtest.h>

#include "kernels/reference/matmul.h"
#include "kernels/simt/linear.h"
#include "tests/emulator/engine/queue.h"
#include "tests/emulator/for_float_types.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using emulator::Queue;

TEST(EmulatedGemm, MatchesTheReferenceForEverySizeAndLayout) {
  test::for_float_types([]<typename T>(TypeTag<T>) {
    for (const auto& [m, n, k] :
         {std::array<std::int64_t, 3>{1, 1, 1}, {3, 70, 17}, {65, 64, 16}, {20, 130, 40}, {5, 7, 0}}) {
      for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
          const Tensor a = test::random_tensor(transpose_a ? Shape{k, m} : Shape{m, k}, dtype_of<T>(), 1);
          const Tensor b = test::random_tensor(transpose_b ? Shape{n, k} : Shape{k, n}, dtype_of<T>(), 2);
          Tensor c = Tensor::empty({m, n}, dtype_of<T>());
          const auto view = [](const Tensor& x, std::int64_t rows, std::int64_t columns, bool transposed) {
            return simt::MatrixView<const T>{x.data<T>(), rows, columns, transposed ? 1 : columns,
                                             transposed ? rows : 1};
          };
          Queue queue;
          simt::gemm(
              queue,
              simt::Gemm<T>{view(a, m, k, transpose_a), view(b, k, n, transpose_b), {c.data<T>(), m, n, n, 1}, {}, {}});
          test::expect_close(
              c, reference::matmul(a.to_vector<double>(), b.to_vector<double>(), m, n, k, transpose_a, transpose_b));
          EXPECT_EQ(queue.traffic().bank_conflicts, 0);
        }
      }
    }
  });
}

/// Every matrix once for each row or column of tiles that needs it, in whole sectors whichever way it lies.
TEST(EmulatedGemm, ReadsAndWritesWholeSectorsInEveryLayout) {
  test::for_float_types([]<typename T>(TypeTag<T>) {
    const std::int64_t m = 128, n = 64, k = 48, elements = 32 / std::int64_t{sizeof(T)};
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        SCOPED_TRACE(testing::Message() << transpose_a << transpose_b);
        const Tensor a = test::random_tensor({m * k}, dtype_of<T>()), b = test::random_tensor({k * n}, dtype_of<T>());
        Tensor c = Tensor::empty({m, n}, dtype_of<T>());
        Queue queue;
        simt::gemm(queue, simt::Gemm<T>{{a.data<T>(), m, k, transpose_a ? 1 : k, transpose_a ? m : 1},
                                        {b.data<T>(), k, n, transpose_b ? 1 : n, transpose_b ? k : 1},
                                        {c.data<T>(), m, n, n, 1},
                                        {},
                                        {}});
        EXPECT_EQ(queue.traffic().load_sectors, (m * k * (n / 64) + k * n * (m / 64)) / elements);
        EXPECT_EQ(queue.traffic().store_sectors, m * n / elements);
        EXPECT_EQ(queue.traffic().bank_conflicts, 0);
      }
    }
  });
}

}  // namespace
}  // namespace bough
