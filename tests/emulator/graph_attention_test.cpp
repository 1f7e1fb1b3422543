#include "kernels/reference/graph_attention.h"

#include <gtest/gtest.h>

#include "bough/ops/cast.h"
#include "kernels/emulator/queue.h"
#include "kernels/ops/graph_attention_call.h"
#include "kernels/simt/attention_cost.h"
#include "kernels/simt/device_rows.h"
#include "kernels/simt/graph_attention_backward.h"
#include "tests/kernels/graph_attention_cases.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/graph_zoo.h"

namespace bough {
namespace {

using emulator::Order;
using emulator::Queue;
using simt::DeviceRows;
using test::all_extras;
using test::attention_case;
using test::AttentionCase;
using test::with_types;

/// Small enough to cut the hubs of the zoo into several segments.
constexpr std::int64_t segment_edges = 24;

/// graph_attention and its gradients with the kernels of a GPU, on the emulator.
struct EmulatedAttention {
  EmulatedAttention(Queue& queue, const AttentionCase& c)
      : queue_(queue),
        case_(c),
        tensors_{c.q,
                 c.k,
                 c.v,
                 c.options.relation_keys,
                 c.options.relation_values,
                 c.options.relation_bias,
                 c.options.edge_bias,
                 c.options.edge_weights},
        call_(check_attention("emulated", std::span(&c.graph, 1), tensors_, c.options)),
        by_destination_(c.graph.csc(), c.graph.edge_types(), Device::cpu(), segment_edges),
        by_source_(c.graph.csr(), c.graph.edge_types(), Device::cpu(), segment_edges),
        out(Tensor::empty({call_.num_dst, call_.heads, call_.value_width}, c.q.dtype())),
        log_sum(Tensor::empty({call_.num_dst, call_.heads}, c.q.dtype())) {
    if (call_.dropout.active()) call_.dropout.stream = c.options.generator->next_stream();
    visit_floating("emulated", c.q.dtype(), [&]<typename T>(TypeTag<T>) {
      simt::attend_rows(queue_, by_destination_.rows(), by_destination_.edges(), inputs<T>(),
                        AttentionOutputs<T>{rows<T>(out, call_.value_width), rows<T>(log_sum, 1)});
    });
  }

  /// In the order of tensors_of.
  std::vector<Tensor> gradients(const Tensor& d_out) {
    AttentionTensors results;
    for (std::size_t i = 0; i < AttentionTensors::count; ++i) {
      const Tensor& input = *tensors_.all()[i];
      if (input.defined()) *results.all()[i] = zeros_like(input);
    }
    Tensor delta = Tensor::empty({call_.num_dst, call_.heads}, out.dtype());
    visit_floating("emulated", out.dtype(), [&]<typename T>(TypeTag<T>) {
      const auto table = [&](Tensor& tensor, std::int64_t width) {
        return head_rows<T>(tensor, tensor.defined() && tensor.rank() == 3, call_.heads, width);
      };
      AttentionGradients<T> views{
          .d_out = rows<T>(d_out, call_.value_width),
          .out = rows<T>(std::as_const(out), call_.value_width),
          .log_sum = rows<T>(std::as_const(log_sum), 1),
          .delta = rows<T>(std::as_const(delta), 1),
          .q = rows<T>(results.q, call_.width),
          .k = rows<T>(results.k, call_.width),
          .v = rows<T>(results.v, call_.value_width),
          .relations = {table(results.relation_keys, call_.width), table(results.relation_values, call_.value_width),
                        rows<T>(results.relation_bias, 1)},
          .num_relations = case_.graph.num_edge_types(),
          .edge_bias = edge_rows<T>(results.edge_bias, call_.groups[0]),
          .edge_weights = edge_rows<T>(results.edge_weights, call_.groups[0]),
      };
      simt::attention_delta(queue_, call_.num_dst, inputs<T>(), views.out, views.d_out, rows<T>(delta, 1));
      simt::attend_backward_to_destinations(queue_, by_destination_.rows(), by_destination_.edges(), inputs<T>(), views,
                                            case_.graph.num_edges());
      simt::attend_backward_to_sources(queue_, by_source_.rows(), by_source_.edges(), inputs<T>(), views);
    });
    return results.defined();
  }

 private:
  template <typename T>
  AttentionInputs<T> inputs() const {
    return call_.inputs<T>(tensors_, call_.groups[0]);
  }
  template <typename T>
  HeadRows<T> rows(Tensor& tensor, std::int64_t width) const {
    return head_rows<T>(tensor, true, call_.heads, width);
  }
  template <typename T>
  HeadRows<const T> rows(const Tensor& tensor, std::int64_t width) const {
    return head_rows<T>(tensor, true, call_.heads, width);
  }

  Queue& queue_;
  const AttentionCase& case_;
  AttentionTensors tensors_;
  AttentionCall call_;
  DeviceRows by_destination_, by_source_;

 public:
  Tensor out, log_sum;
};

/// The same numbers in double precision.
AttentionCase widened(AttentionCase c) {
  for (Tensor* tensor : test::tensors_of(c)) *tensor = cast(*tensor, DType::float64);
  return c;
}

/// Forward against the definition, gradients against the CPU in double precision.
void expect_right(const AttentionCase& c, Order order = Order::ascending) {
  Queue queue(order);
  EmulatedAttention emulated(queue, c);
  const AttentionCase wide = widened(c);
  test::expect_close(emulated.out, reference::graph_attention(wide.graph, wide.q, wide.k, wide.v, wide.options).out);
  const Tensor d_out = test::random_tensor(emulated.out.shape(), DType::float64, 20);
  const std::vector<Tensor> gradients = emulated.gradients(cast(d_out, c.q.dtype())),
                            expected = test::gradients_of(wide);
  ASSERT_EQ(gradients.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    test::expect_close(gradients[i], expected[i], c.q.dtype());
  }
}

TEST(EmulatedGraphAttention, MatchesTheReferenceAndTheGradientsOfTheCpuOnEveryGraph) {
  for (const zoo::Animal& animal : zoo::all(100)) {
    SCOPED_TRACE(animal.name);
    expect_right(attention_case(with_types(animal.graph, 3), DType::float64, {2, 8, 4}, {.relation_keys = true}));
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

TEST(EmulatedGraphAttention, DoesNotDependOnWhichThreadRunsFirst) {
  const AttentionCase c = attention_case(with_types(zoo::hub(100, true), 4), DType::float32, {2, 8, 8},
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

TEST_F(EmulatedAttentionTraffic, OfBackwardIsTwoVectorsAnEdgeAndPass) {
  Queue queue;
  EmulatedAttention emulated(queue, case_);
  const emulator::Traffic before = queue.traffic();
  emulated.gradients(test::random_tensor(emulated.out.shape(), DType::float32, 20));
  double loads = 0, stores = 0;
  for (const simt::AttentionCost& cost : {delta_cost(size), to_destinations_cost(size), to_sources_cost(size)}) {
    loads += cost.load_sectors;
    stores += cost.store_sectors;
  }
  EXPECT_EQ(queue.traffic().load_sectors - before.load_sectors, loads);
  EXPECT_EQ(queue.traffic().store_sectors - before.store_sectors, stores);
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
