#include "kernels/cpu/optimizer_step.h"

#include <gtest/gtest.h>

#include "kernels/reference/elementwise.h"
#include "kernels/simt/optimizer_step.h"
#include "tests/emulator/engine/queue.h"
#include "tests/emulator/for_float_types.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using emulator::Queue;

TEST(EmulatedOptimizer, StepsMatchTheCpu) {
  test::for_float_types([]<typename T>(TypeTag<T>) {
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
      const auto chunks = [&]<typename Chunk>(State& s, std::type_identity<Chunk>) {
        std::vector<Chunk> list;
        for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 500}, {500, 100}}) {
          if constexpr (std::is_same_v<Chunk, AdamChunk<T>>) {
            list.push_back({s.p.template data<T>() + first, g.data<T>() + first, s.m.template data<T>() + first,
                            s.v.template data<T>() + first, count, first == 0});
          } else {
            list.push_back({s.p.template data<T>() + first, g.data<T>() + first,
                            flag ? s.m.template data<T>() + first : nullptr, count, first == 0});
          }
        }
        return list;
      };
      Queue queue;
      const AdamStep adam{.weight_decay = 0.1, .decoupled_weight_decay = flag, .gradient_scale = 0.5, .step = 3};
      const std::vector<AdamChunk<T>> on_cpu = chunks(cpu, std::type_identity<AdamChunk<T>>{}),
                                      on_gpu = chunks(gpu, std::type_identity<AdamChunk<T>>{});
      adam_update<T>(Cpu{}, on_cpu, adam);
      simt::adam_update<T>(queue, on_gpu.data(), 2, adam, {});
      test::expect_close(gpu.p, cpu.p);
      test::expect_close(gpu.m, cpu.m);
      test::expect_close(gpu.v, cpu.v);

      const SgdStep sgd{.momentum = 0.9, .weight_decay = 0.1, .nesterov = flag};
      const std::vector<SgdChunk<T>> sgd_cpu = chunks(cpu, std::type_identity<SgdChunk<T>>{}),
                                     sgd_gpu = chunks(gpu, std::type_identity<SgdChunk<T>>{});
      sgd_update<T>(Cpu{}, sgd_cpu, sgd);
      simt::sgd_update<T>(queue, sgd_gpu.data(), 2, sgd, {});
      test::expect_close(gpu.p, cpu.p);
      test::expect_close(gpu.m, cpu.m);
    }
  });
}

TEST(EmulatedOptimizer, NormsAndScalesChunks) {
  Tensor x = test::random_tensor({1000});
  const std::vector<TensorChunk<float>> chunks{{x.data<float>(), 700}, {x.data<float>() + 700, 300}};
  std::vector<double> sums(2), expected(2);
  for (std::int64_t i = 0; i < 1000; ++i)
    expected[i < 700 ? 0 : 1] += std::pow(static_cast<double>(x.data<float>()[i]), 2);
  Queue queue;
  simt::squared_sums(queue, chunks.data(), 2, sums.data());
  EXPECT_NEAR(sums[0], expected[0], 1e-9);
  EXPECT_NEAR(sums[1], expected[1], 1e-9);
  const Tensor before = x.clone();
  simt::scale<float>(queue, chunks.data(), 2, 0.25);
  test::expect_close(x, reference::unary(before, [](double value) { return value / 4; }));
}

}  // namespace
}  // namespace bough
