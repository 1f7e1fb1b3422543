#include <gtest/gtest.h>

#include "kernels/broadcast.h"
#include "kernels/cpu/cross_entropy.h"
#include "kernels/cpu/layer_norm.h"
#include "kernels/cpu/optimizer_step.h"
#include "kernels/cpu/unary.h"
#include "kernels/functors/binary.h"
#include "kernels/reference/cross_entropy.h"
#include "kernels/reference/dropout.h"
#include "kernels/reference/elementwise.h"
#include "kernels/reference/layer_norm.h"
#include "kernels/reference/matmul.h"
#include "kernels/reference/rows.h"
#include "kernels/simt/cross_entropy.h"
#include "kernels/simt/dropout.h"
#include "kernels/simt/elementwise.h"
#include "kernels/simt/gemm.h"
#include "kernels/simt/gspmm.h"
#include "kernels/simt/layer_norm.h"
#include "kernels/simt/optimizer_step.h"
#include "kernels/simt/rows.h"
#include "kernels/views.h"
#include "tests/emulator/engine/queue.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using emulator::Queue;

/// Calls f.operator()<float>() and f.operator()<double>().
template <typename F>
void for_float_types(F&& f) {
  f(TypeTag<float>{});
  f(TypeTag<double>{});
}

TEST(EmulatedLayerNorm, MatchesTheReferenceForAnyWidth) {
  for_float_types([]<typename T>(TypeTag<T>) {
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
  for_float_types([]<typename T>(TypeTag<T>) {
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
          simt::LayerNormInputGradient<T>{rows, width, x.data<T>(), weight.data<T>(), statistics.data<T>(),
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
      simt::LayerNormInputGradient<float>{rows, width, x.data<float>(), weight.data<float>(), statistics.data<float>(),
                                          dy.data<float>(), nullptr, dx.data<float>()},
      dweight.data<float>(), dbias.data<float>());
  // Twice with the weight for dx, once for the parameters, whose sums of the one range of rows are read again.
  EXPECT_EQ(queue.traffic().load_sectors,
            rows * (2 * 3 * sectors + 2) + rows * (2 * sectors + 2 * warps) + 2 * sectors);
  EXPECT_EQ(queue.traffic().store_sectors, rows * sectors + 2 * 2 * sectors);
}

class EmulatedCrossEntropy : public testing::TestWithParam<double> {};

TEST_P(EmulatedCrossEntropy, MatchesTheReferenceAndTheGradientOfTheCpu) {
  for_float_types([]<typename T>(TypeTag<T>) {
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
        queue, simt::CrossEntropyGradient<T>{rows, width, logits.data<T>(), view, normalizers.data<T>(), dy.data<T>(),
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
  simt::cross_entropy_backward(queue, simt::CrossEntropyGradient<float>{
                                          1, 3, logits.data<float>(), {&target}, normalizers, &dy, true, 1, gradient});
  EXPECT_EQ(gradient[0], 0);
  EXPECT_EQ(gradient[1], -1);
}

TEST(EmulatedDropout, DropsWhatTheDefinitionDrops) {
  for_float_types([]<typename T>(TypeTag<T>) {
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
  for_float_types([]<typename T>(TypeTag<T>) {
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
      simt::unary_gradient(queue, function, parameters, saved, dy.data<T>(), dx.data<T>(), 300);
      unary_gradient(Cpu{}, function, parameters, saved, dy.data<T>(), cpu_dx.data<T>(), 300);
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
    simt::binary(queue, scalar::Binary{BinaryFunction::sub}, plan_broadcast<2>(shape, {a_shape, b_shape}),
                 a.data<double>(), b.data<double>(), result.data<double>());
    test::expect_close(result, reference::binary(a, b, std::minus<>()));
  }
}

TEST(EmulatedGemm, MatchesTheReferenceForEverySizeAndLayout) {
  for_float_types([]<typename T>(TypeTag<T>) {
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
  for_float_types([]<typename T>(TypeTag<T>) {
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

TEST(EmulatedRows, AreGatheredInWholeSectors) {
  const std::int64_t rows = 7, width = 32, picked = 20;
  const Tensor x = test::random_tensor({rows, width});
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < picked; ++i) numbers.push_back(i % rows);
  const Tensor index = Tensor::from_vector(numbers, {picked});
  Tensor y = Tensor::empty({picked, width});
  Queue queue;
  simt::gather_rows(queue, reinterpret_cast<const std::byte*>(x.data<float>()), index.data<std::int64_t>(),
                    reinterpret_cast<std::byte*>(y.data<float>()), picked, width * 4);
  EXPECT_EQ(queue.traffic().load_sectors, picked * 4 + picked / 4) << "a warp reads four rows and their numbers";
  EXPECT_EQ(queue.traffic().store_sectors, picked * 4);
}

TEST(EmulatedRows, AreGatheredInUnitsOfAnySize) {
  for (const DType dtype : {DType::float32, DType::float64, DType::boolean}) {
    for (const std::int64_t width : {1, 3, 4, 32}) {
      const Tensor x = test::random_tensor({7, width}, dtype, 1),
                   index = test::random_indices({20}, 0, 7, DType::int64, 2);
      Tensor y = Tensor::empty({20, width}, dtype);
      Queue queue;
      visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
        simt::gather_rows(queue, reinterpret_cast<const std::byte*>(x.data<T>()), index.data<std::int64_t>(),
                          reinterpret_cast<std::byte*>(y.data<T>()), 20, width * std::int64_t{sizeof(T)});
      });
      EXPECT_EQ(y.to_vector<double>(),
                reference::gather_rows(x.to_vector<double>(), width, index.to_vector<std::int64_t>()));
    }
  }
}

/// The gradient of an embedding: rows by a sorted index, hubs (frequent words) cut and merged in order.
TEST(EmulatedRows, AreAddedUpByASortedIndex) {
  const std::int64_t count = 300, num_rows = 9, width = 5;
  const Tensor values = test::random_tensor({count, width}, DType::float64, 1);
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < count; ++i) index.push_back(i % 3 == 0 ? 4 : i * 7 % num_rows);
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::ranges::stable_sort(order, {}, [&](std::int32_t i) { return index[static_cast<std::size_t>(i)]; });
  std::vector<std::int64_t> offsets(1, 0);
  for (std::int64_t row = 0; row < num_rows; ++row) offsets.push_back(offsets.back() + std::ranges::count(index, row));

  Queue queue;
  const simt::RowItems plan = simt::make_row_items(offsets, 24);
  EXPECT_GE(plan.cut_rows.size(), 1u);
  const auto items = queue.upload(std::span<const simt::RowItem>(plan.items));
  const auto cut_rows = queue.upload(std::span<const simt::CutRow>(plan.cut_rows));
  const std::vector<Shape> shapes(2, Shape{width});
  const mp::FeatureLayout layout = mp::broadcast_layout({width}, shapes);
  Tensor sums = Tensor::empty({num_rows, width}, DType::float64);
  simt::gspmm(queue,
              {items.data(), static_cast<std::int64_t>(plan.items.size()), cut_rows.data(),
               static_cast<std::int64_t>(plan.cut_rows.size()), plan.num_partials},
              {.offsets = offsets.data(), .edge_ids = order.data()},
              simt::MessageCall<double>{.lhs = values.data<double>(), .layout = &layout}, ReduceOp::sum,
              simt::GspmmResults<double>{.rows = sums.data<double>()});
  test::expect_close(sums, reference::scatter_add_rows(values.to_vector<double>(), width, index, num_rows));
}

TEST(EmulatedOptimizer, StepsMatchTheCpu) {
  for_float_types([]<typename T>(TypeTag<T>) {
    const DType dtype = dtype_of<T>();
    const Tensor start = test::random_tensor({600}, dtype, 1), g = test::random_tensor({600}, dtype, 2);
    struct State {
      Tensor p, m, v;
    };
    const auto fresh = [&] {
      return State{start.clone(), test::random_uniform({600}, 0, 1, dtype, 3),
                   test::random_uniform({600}, 0, 1, dtype, 4)};
    };
    for (const bool flag : {false, true}) {
      State cpu = fresh(), gpu = fresh();
      const auto pieces = [&]<typename Piece>(State& s, std::type_identity<Piece>) {
        std::vector<Piece> list;
        for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 500}, {500, 100}}) {
          if constexpr (std::is_same_v<Piece, AdamPiece<T>>) {
            list.push_back({s.p.template data<T>() + first, g.data<T>() + first, s.m.template data<T>() + first,
                            s.v.template data<T>() + first, count});
          } else {
            list.push_back({s.p.template data<T>() + first, g.data<T>() + first,
                            flag ? s.m.template data<T>() + first : nullptr, count});
          }
        }
        return list;
      };
      Queue queue;
      const AdamStep adam{.weight_decay = 0.1, .decoupled_weight_decay = flag, .gradient_scale = 0.5, .step = 3};
      const std::vector<AdamPiece<T>> on_cpu = pieces(cpu, std::type_identity<AdamPiece<T>>{}),
                                      on_gpu = pieces(gpu, std::type_identity<AdamPiece<T>>{});
      adam_update<T>(Cpu{}, on_cpu, adam);
      simt::adam_update<T>(queue, on_gpu.data(), 2, adam, {});
      test::expect_close(gpu.p, cpu.p);
      test::expect_close(gpu.m, cpu.m);
      test::expect_close(gpu.v, cpu.v);

      const SgdStep sgd{.momentum = 0.9, .weight_decay = 0.1, .nesterov = flag};
      const std::vector<SgdPiece<T>> sgd_cpu = pieces(cpu, std::type_identity<SgdPiece<T>>{}),
                                     sgd_gpu = pieces(gpu, std::type_identity<SgdPiece<T>>{});
      sgd_update<T>(Cpu{}, sgd_cpu, sgd);
      simt::sgd_update<T>(queue, sgd_gpu.data(), 2, sgd, {});
      test::expect_close(gpu.p, cpu.p);
      test::expect_close(gpu.m, cpu.m);
    }
  });
}

TEST(EmulatedOptimizer, NormsAndScalesPieces) {
  Tensor x = test::random_tensor({1000});
  const std::vector<Piece<float>> pieces{{x.data<float>(), 700}, {x.data<float>() + 700, 300}};
  std::vector<double> sums(2), expected(2);
  for (std::int64_t i = 0; i < 1000; ++i)
    expected[i < 700 ? 0 : 1] += std::pow(static_cast<double>(x.data<float>()[i]), 2);
  Queue queue;
  simt::squared_sums(queue, pieces.data(), 2, sums.data());
  EXPECT_NEAR(sums[0], expected[0], 1e-9);
  EXPECT_NEAR(sums[1], expected[1], 1e-9);
  const Tensor before = x.clone();
  simt::scale<float>(queue, pieces.data(), 2, 0.25);
  test::expect_close(x, reference::unary(before, [](double value) { return value / 4; }));
}

}  // namespace
}  // namespace bough
