#include <gtest/gtest.h>

#include "kernels/attention/simt/cost.h"
#include "kernels/reference/graph_attention.h"
#include "tests/emulator/emulated_attention.h"
#include "tests/emulator/engine/queue.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using emulator::Order;
using emulator::Queue;
using test::all_extras;
using test::attention_case;
using test::AttentionCase;
using test::EmulatedAttention;
using test::expect_right;
using test::with_types;

TEST(EmulatedGraphAttention, MatchesTheReferenceAndTheGradientsOfTheCpuOnEveryGraph) {
  for (const zoo::NamedGraph& named : zoo::all(100)) {
    SCOPED_TRACE(named.name);
    expect_right(attention_case(with_types(named.graph, 3), DType::float64, {2, 8, 4}, {.relation_keys = true}));
  }
}

TEST(EmulatedGraphAttention, TakesEveryOption) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const auto& [name, extras] : all_extras()) {
      SCOPED_TRACE(name);
      expect_right(attention_case(with_types(zoo::random_graph(12, 150, 2), 4), dtype, {2, 8, 4}, extras));
    }
  }
}

TEST(EmulatedGraphAttention, AddsUpTheSameGradientsAtomically) {
  for (const auto& [name, extras] : all_extras()) {
    SCOPED_TRACE(name);
    for (const auto& [width, value_width] : {std::pair{8, 4}, {130, 3}}) {
      AttentionCase c =
          attention_case(with_types(zoo::random_graph(12, 150, 2), 4), DType::float64, {2, width, value_width}, extras);
      c.options.deterministic = false;
      expect_right(c);
    }
  }
}

TEST(EmulatedGraphAttention, OfBfloat16IsThatOfFloatRoundedOnEveryGraph) {
  for (const zoo::NamedGraph& named : zoo::all(100)) {
    SCOPED_TRACE(named.name);
    const AttentionCase c = test::in_bfloat16(
        attention_case(with_types(named.graph, 3), DType::float32, {2, 8, 4}, {.relation_keys = true}));
    expect_right(c);
    test::expect_as_in_float(c);
  }
}

TEST(EmulatedGraphAttention, OfBfloat16TakesEveryOptionAndWidth) {
  for (const auto& [name, extras] : all_extras()) {
    SCOPED_TRACE(name);
    for (const auto& [width, value_width] : {std::pair{8, 8}, {5, 3}, {100, 128}}) {
      AttentionCase c = test::in_bfloat16(attention_case(with_types(zoo::random_graph(12, 150, 2), 4), DType::float32,
                                                         {2, width, value_width}, extras));
      test::expect_as_in_float(c);
      c.options.deterministic = false;
      test::expect_as_in_float(c);
    }
  }
}

TEST(EmulatedGraphAttention, TakesWidthsOfEveryKernel) {
  for (const auto& [width, value_width] :
       {std::pair{1, 1}, {3, 5}, {64, 64}, {64, 12}, {100, 128}, {130, 20}, {256, 7}}) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      SCOPED_TRACE(width);
      expect_right(attention_case(with_types(zoo::random_graph(6, 40, 2), 3), dtype, {1, width, value_width},
                                  {.relation_keys = true, .relation_values = true}));
    }
  }
}

TEST(EmulatedGraphAttention, NamesTheLimitWhenHeadsAreTooWide) {
  Queue queue;
  const std::string message = test::error_message<DeviceError>([&] {
    EmulatedAttention(queue, attention_case(zoo::chain(3), DType::float32, {1, 257, 3}));
  });
  EXPECT_EQ(message,
            "[graph_attention] takes heads of up to 256 features on a GPU, these have 257; use more heads, or "
            "Device::cpu()");
}

TEST(EmulatedGraphAttention, DropsTheSameEdgesAsTheCpu) {
  for (const auto& [name, extras] : all_extras()) {
    SCOPED_TRACE(name);
    RandomGenerator cpu(11), gpu(11);
    AttentionCase c = attention_case(with_types(zoo::random_graph(7, 90, 3), 3), DType::float64, {2, 4, 4}, extras);
    c.options.dropout = 0.4;
    c.options.generator = &gpu;
    Queue queue;
    EmulatedAttention emulated(queue, c);
    const std::vector<Tensor> gradients =
        emulated.gradients(test::random_tensor(emulated.out.shape(), DType::float64, 20));
    c.options.generator = &cpu;
    const std::vector<Tensor> expected = test::gradients_of(c);
    for (std::size_t i = 0; i < expected.size(); ++i) test::expect_close(gradients[i], expected[i]);
    RandomGenerator again(11);
    c.options.generator = &again;
    test::expect_close(emulated.out, test::attend(c));
  }
}

TEST(EmulatedGraphAttention, SurvivesLargeScoresAndMaskedEdges) {
  AttentionCase c = attention_case(zoo::random_graph(9, 80, 4), DType::float32, {2, 8, 8}, {.edge_bias = true});
  Tensor bias = test::random_uniform({c.graph.num_edges()}, -1e4, 1e4);
  for (std::int64_t edge = 0; edge < c.graph.num_edges(); ++edge) {
    // All edges of destination 3 are masked, and some of the others.
    if (edge % 5 == 0 || c.graph.coo().dst[static_cast<std::size_t>(edge)] == 3) bias.data<float>()[edge] = -INFINITY;
  }
  c.options.edge_bias = bias;
  Queue queue;
  EmulatedAttention emulated(queue, c);
  test::expect_close(emulated.out, reference::graph_attention(c.graph, c.q, c.k, c.v, c.options).out);
  for (int i = 0; i < 2 * 8; ++i) EXPECT_EQ(emulated.out.data<float>()[3 * 2 * 8 + i], 0);
}

TEST(EmulatedGraphAttention, AnEdgeOfWeightZeroIsNoEdgeHoweverLargeItsScore) {
  AttentionCase c =
      attention_case(zoo::causal_window(12, 3), DType::float32, {2, 8, 4}, {.edge_bias = true, .edge_weights = true});
  for (std::int64_t e = 0; e < c.graph.num_edges(); e += 3) {
    c.options.edge_bias.data<float>()[e] = 1e4F;
    c.options.edge_weights.data<float>()[e] = 0;
  }
  Queue queue(Order::ascending);
  EmulatedAttention emulated(queue, c);
  test::expect_close(emulated.out, test::attend(c));
  const Tensor d_out = test::random_tensor(emulated.out.shape(), DType::float32, 20);
  const std::vector<Tensor> gradients = emulated.gradients(d_out), expected = test::gradients_of(c);
  for (std::size_t i = 0; i < 4; ++i) test::expect_close(gradients[i], expected[i]);  // all but those of the weights
}

TEST(EmulatedGraphAttention, DoesNotDependOnWhichThreadRunsFirst) {
  const AttentionCase c = attention_case(with_types(zoo::split_row(100, true), 4), DType::float32, {2, 8, 8},
                                         {.relation_keys = true, .relation_values = true, .edge_bias = true});
  const Tensor d_out = test::random_tensor({c.graph.num_dst(), 2, 8}, DType::float32, 20);
  Queue forwards(Order::ascending), backwards(Order::descending);
  EmulatedAttention one(forwards, c), other(backwards, c);
  test::expect_same_bits(one.out, other.out);
  const std::vector<Tensor> gradients = one.gradients(d_out), others = other.gradients(d_out);
  for (std::size_t i = 0; i < gradients.size(); ++i) test::expect_same_bits(gradients[i], others[i]);
}

/// A graph whose rows have a multiple of four edges, which are done at once.
class EmulatedAttentionTraffic : public testing::Test {
 protected:
  static constexpr std::int64_t nodes = 24, edges = nodes * nodes;
  static constexpr simt::AttentionSize size{.rows = nodes, .edges = edges};

  static Graph complete() {
    std::vector<std::int32_t> src, dst;
    for (std::int32_t i = 0; i < edges; ++i) {
      src.push_back(i % nodes);
      dst.push_back(i / nodes);
    }
    return Graph::from_edges(src, dst, {.num_nodes = nodes});
  }

  /// The gradients take what the costs say, and nothing more.
  static void expect_backward_traffic(Queue& queue, EmulatedAttention& emulated, DType dtype,
                                      const simt::AttentionSize& of_size) {
    const emulator::Traffic before = queue.traffic();
    emulated.gradients(cast(test::random_tensor(emulated.out.shape(), DType::float32, 20), dtype));
    double loads = 0, stores = 0;
    for (const auto& cost : {delta_cost(of_size), to_destinations_cost(of_size), to_sources_cost(of_size)}) {
      loads += cost.load_sectors;
      stores += cost.store_sectors;
    }
    EXPECT_EQ(queue.traffic().load_sectors - before.load_sectors, loads);
    EXPECT_EQ(queue.traffic().store_sectors - before.store_sectors, stores);
  }

  const AttentionCase case_ = attention_case(complete(), DType::float32, {1, 64, 64});
};

TEST_F(EmulatedAttentionTraffic, OfForwardIsOneKeyAndOneValueAnEdge) {
  Queue queue;
  EmulatedAttention emulated(queue, case_);
  const simt::AttentionCost cost = forward_cost(size);
  EXPECT_EQ(queue.traffic().load_sectors, cost.load_sectors);
  EXPECT_EQ(queue.traffic().store_sectors, cost.store_sectors);
  EXPECT_EQ(cost.load_sectors, edges * (8 + 8) + edges / 4 + nodes * (8 + 1)) << "64 floats are 8 sectors";
}

TEST_F(EmulatedAttentionTraffic, OfBfloat16IsHalfAKeyAndHalfAValueAnEdge) {
  constexpr simt::AttentionSize halved{.rows = nodes, .edges = edges, .element_bytes = 2};
  const AttentionCase narrow = test::in_bfloat16(case_);
  Queue queue;
  EmulatedAttention emulated(queue, narrow);
  EXPECT_EQ(queue.traffic().load_sectors, forward_cost(halved).load_sectors);
  EXPECT_EQ(queue.traffic().store_sectors, forward_cost(halved).store_sectors);
  EXPECT_EQ(forward_cost(halved).load_sectors, edges * (4 + 4) + edges / 4 + nodes * (4 + 1));
  expect_backward_traffic(queue, emulated, DType::bfloat16, halved);
}

TEST_F(EmulatedAttentionTraffic, OfBackwardIsTwoVectorsAnEdgeAndPass) {
  Queue queue;
  EmulatedAttention emulated(queue, case_);
  expect_backward_traffic(queue, emulated, DType::float32, size);
}

TEST_F(EmulatedAttentionTraffic, OfRelationsIsOneKeyMoreWithoutBankConflicts) {
  AttentionCase typed = attention_case(with_types(complete(), 4), DType::float32, {1, 64, 64}, {.relation_keys = true});
  Queue queue;
  EmulatedAttention emulated(queue, typed);
  EXPECT_EQ(queue.traffic().load_sectors,
            simt::forward_cost({.rows = nodes, .edges = edges, .relation_keys = true}).load_sectors);
  emulated.gradients(test::random_tensor(emulated.out.shape(), DType::float32, 20));
  EXPECT_GT(queue.traffic().shared_requests, 0);
  EXPECT_EQ(queue.traffic().bank_conflicts, 0);
}

}  // namespace
}  // namespace bough
