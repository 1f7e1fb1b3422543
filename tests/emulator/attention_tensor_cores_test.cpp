#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/graph/graph_generator.h"
#include "bough/ops/attention_plan.h"
#include "kernels/attention/simt/tensor_cores.h"
#include "tests/emulator/emulated_attention.h"
#include "tests/emulator/engine/matrix_unit.h"
#include "tests/support/errors.h"

/// Products of matrices, and attention that is made of them, on the emulator.
namespace bough {
namespace {

using emulator::KernelFault;
using emulator::Order;
using emulator::Queue;
using test::attention_case;
using test::AttentionCase;
using test::AttentionSizes;
using test::EmulatedAttention;

constexpr int size = simt::matrix_size;

/// product = left * right, or left * transposed right, in one warp.
struct Multiply {
  static constexpr int block_size = 32, stride = size + 8;
  const float *left = nullptr, *right = nullptr;
  float* product = nullptr;
  bool transposed = false;
  int first = 0;         ///< of the matrices in shared memory
  int taking_part = 32;  ///< lanes

  template <typename Context>
  void operator()(Context& context) const {
    using Unit = simt::MatrixUnit<Context>;
    const auto a = context.template shared<bfloat16>(2 * size * stride);
    const auto b = context.template shared<bfloat16>(2 * size * stride);
    const auto sums = context.template shared<float>(size * stride);
    for (int i = context.lane(); i < size * size; i += simt::warp_size) {
      a.set(first + i / size * stride + i % size, bfloat16(context.load(left + i)));
      b.set(first + i / size * stride + i % size, bfloat16(context.load(right + i)));
    }
    context.sync();
    if (context.lane() >= taking_part) return;
    typename Unit::Sums result;
    const auto rows = Unit::left(context, a, first, stride);
    if (transposed) {
      Unit::add_product(context, result, rows, Unit::right_of_rows(context, b, first, stride));
    } else {
      Unit::add_product(context, result, rows, Unit::right(context, b, first, stride));
    }
    Unit::store(context, result, sums, 0, stride);
    context.sync();
    for (int i = context.lane(); i < size * size; i += simt::warp_size) {
      context.store(product + i, sums.get(i / size * stride + i % size));
    }
  }
};

class EmulatedMatrices : public testing::Test {
 protected:
  void run(Multiply body) {
    body.left = left_.data<float>();
    body.right = right_.data<float>();
    body.product = product_.data<float>();
    Queue queue;
    queue.launch({.name = "multiply",
                  .num_blocks = 1,
                  .block_size = Multiply::block_size,
                  .shared_bytes = 2 * simt::shared_bytes<bfloat16>(2 * size * Multiply::stride) +
                                  simt::shared_bytes<float>(size * Multiply::stride)},
                 body);
  }

  const Tensor left_ =
      cast(cast(test::random_tensor({size, size}, DType::float32, 1), DType::bfloat16), DType::float32);
  const Tensor right_ =
      cast(cast(test::random_tensor({size, size}, DType::float32, 2), DType::bfloat16), DType::float32);
  Tensor product_ = Tensor::empty({size, size});
};

TEST_F(EmulatedMatrices, AreMultipliedByRowsAndByColumns) {
  for (const bool transposed : {false, true}) {
    run({.transposed = transposed});
    std::vector<double> expected;
    for (int i = 0; i < size * size; ++i) {
      double sum = 0;
      for (int k = 0; k < size; ++k) {
        const int of_right = transposed ? i % size * size + k : k * size + i % size;
        sum += double{left_.data<float>()[i / size * size + k]} * right_.data<float>()[of_right];
      }
      expected.push_back(sum);
    }
    test::expect_close(product_, expected);
  }
}

TEST_F(EmulatedMatrices, NeedAllLanesOfAWarp) { EXPECT_THROW(run({.taking_part = 31}), KernelFault); }

TEST_F(EmulatedMatrices, BeginAtMultiplesOf32Bytes) {
  run({.first = 16});
  EXPECT_THROW(run({.first = 8}), KernelFault);
}

Graph pattern(const char* kind, const nlohmann::json& parameters, std::int64_t length, bool causal) {
  return generators().make(kind, parameters)->build({.length = length, .causal = causal}).graph;
}

AttentionCase tensor_core_case(const Graph& graph, AttentionSizes sizes, test::AttentionExtras extras = {}) {
  AttentionCase c = test::in_bfloat16(attention_case(graph, DType::float32, sizes, extras));
  c.options.kernel = AttentionKernel::tile;
  c.options.tensor_cores = true;
  return c;
}

/// Each weight is rounded to half of 2^-8 of itself, and then the result.
constexpr test::Tolerance rounded_twice{.relative = 0x1p-8, .absolute = 0x1p-8};

void expect_near_the_reference(const AttentionCase& c) {
  ASSERT_GT(attention_plan_summary(c.graph, c.options.relation_keys.defined()).tiles, 0);
  Queue queue;
  EmulatedAttention emulated(queue, c);
  const AttentionCase wide = test::widened(c);
  const auto expected = reference::graph_attention(wide.graph, wide.q, wide.k, wide.v, wide.options);
  test::expect_close(emulated.out, Tensor::from_vector(expected.out, emulated.out.shape()), rounded_twice);
  // Weights are rounded after they are added up: log-sum-exp is that of the other kernels.
  AttentionCase without = c;
  without.options.tensor_cores = false;
  EmulatedAttention other(queue, without);
  test::expect_close(emulated.lse, other.lse);
}

TEST(EmulatedTensorCores, MatchTheReferenceOnEveryKindOfTile) {
  const std::vector<std::pair<std::string, Graph>> graphs = {
      {"partition", pattern("bpt", {{"k", 4}}, 90, true)},
      {"partition in both directions", pattern("bpt", {{"k", 4}, {"alignment", "pair"}}, 70, false)},
      {"full", pattern("full", {{"max_distance", 20}}, 40, false)},
      {"window", pattern("window", {{"width", 30}}, 70, true)},
      {"longformer", pattern("longformer", {{"width", 24}, {"global", 2}}, 70, false)},
  };
  for (const auto& [name, graph] : graphs) {
    SCOPED_TRACE(name);
    for (const bool relations : {false, true}) {
      expect_near_the_reference(tensor_core_case(graph, {2, 16, 8}, {.relation_keys = relations}));
    }
  }
}

TEST(EmulatedTensorCores, TakeWidthsOfEveryKernel) {
  const Graph graph = pattern("full", {{"max_distance", 5}}, 40, true);
  for (const auto& [width, value_width] : {std::pair{1, 1}, {3, 5}, {64, 12}, {40, 64}, {100, 128}, {128, 7}}) {
    SCOPED_TRACE(width);
    expect_near_the_reference(tensor_core_case(graph, {1, width, value_width}, {.relation_keys = true}));
  }
}

TEST(EmulatedTensorCores, DropTheSameEdgesAsOtherTiles) {
  AttentionCase c = tensor_core_case(pattern("bpt", {{"k", 4}}, 60, true), {2, 16, 16}, {.relation_keys = true});
  c.options.dropout = 0.4;
  RandomGenerator one(11), other(11);
  Queue queue;
  c.options.generator = &one;
  const EmulatedAttention emulated(queue, c);
  AttentionCase without = c;
  without.options.tensor_cores = false;
  without.options.generator = &other;
  const EmulatedAttention expected(queue, without);
  test::expect_close(emulated.out, expected.out, {.relative = 0x1p-7, .absolute = 0x1p-6});
}

TEST(EmulatedTensorCores, KeepAnInfiniteValueFromRowsThatDoNotHaveIt) {
  AttentionCase c = tensor_core_case(pattern("full", nlohmann::json::object(), 40, true), {1, 8, 8});
  c.v.data<bfloat16>()[20 * 8 + 3] = bfloat16(INFINITY);
  expect_near_the_reference(c);
  Queue queue;
  EmulatedAttention emulated(queue, c);
  EXPECT_TRUE(std::isfinite(float{emulated.out.data<bfloat16>()[19 * 8 + 3]}));
  EXPECT_EQ(float{emulated.out.data<bfloat16>()[20 * 8 + 3]}, INFINITY);
}

TEST(EmulatedTensorCores, DoNotDependOnWhichThreadRunsFirst) {
  const AttentionCase c = tensor_core_case(pattern("bpt", {{"k", 4}}, 90, true), {2, 16, 8}, {.relation_keys = true});
  Queue forwards(Order::ascending), backwards(Order::descending);
  const EmulatedAttention one(forwards, c), other(backwards, c);
  test::expect_same_bits(one.out, other.out);
  test::expect_same_bits(one.lse, other.lse);
}

TEST(EmulatedTensorCores, MoveAsManySectorsAsOtherTiles) {
  AttentionCase c = tensor_core_case(pattern("full", nlohmann::json::object(), 64, false), {1, 64, 64});
  Queue queue, other_queue;
  const EmulatedAttention emulated(queue, c);
  c.options.tensor_cores = false;
  const EmulatedAttention other(other_queue, c);
  EXPECT_EQ(queue.traffic().load_sectors, other_queue.traffic().load_sectors);
  EXPECT_EQ(queue.traffic().store_sectors, other_queue.traffic().store_sectors);
}

}  // namespace
}  // namespace bough
