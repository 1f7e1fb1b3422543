#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "bough/ops/cast.h"
#include "kernels/emulator/queue.h"
#include "kernels/ops/graph_attention_call.h"
#include "kernels/reference/graph_attention.h"
#include "kernels/simt/device_tiles.h"
#include "kernels/simt/graph_attention_tiles.h"
#include "kernels/simt/graph_attention_tiles_backward.h"
#include "tests/kernels/graph_attention_cases.h"
#include "tests/support/compare.h"

namespace bough::test {

/// Small enough to cut the hubs of the zoo into several segments, and the tiles of a graph into several batches.
inline constexpr std::int64_t segment_edges = 24, few_columns = 60;

/// graph_attention and its gradients with the kernels of a GPU, on the emulator; with tiles if the case asks for them.
class EmulatedAttention {
 public:
  EmulatedAttention(emulator::Queue& queue, const AttentionCase& c, std::int64_t batch_columns = few_columns)
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
        tiles_(c.options.kernel == AttentionKernel::tile
                   ? std::make_unique<simt::DeviceTiles>(c.graph, c.options.relation_keys.defined(), Device::cpu(),
                                                         batch_columns, segment_edges)
                   : nullptr),
        out(Tensor::empty({call_.num_dst, call_.heads, call_.value_width}, c.q.dtype())),
        log_sum(Tensor::empty({call_.num_dst, call_.heads}, c.q.dtype())) {
    if (call_.dropout.active()) call_.dropout.stream = c.options.generator->next_stream();
    visit_floating("emulated", c.q.dtype(), [&]<typename T>(TypeTag<T>) {
      const AttentionOutputs<T> result{rows<T>(out, call_.value_width), rows<T>(log_sum, 1)};
      if (has_tiles()) simt::attend_tiles(queue_, tiles_->tiles(), inputs<T>(), result);
      simt::attend_rows(queue_, has_tiles() ? tiles_->rows() : by_destination_.rows(), by_destination_.edges(),
                        inputs<T>(), result);
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
      if (!case_.options.deterministic) {
        if (has_tiles()) simt::attend_tiles_backward_atomically(queue_, tiles_->tiles(), inputs<T>(), views);
        return simt::attend_backward_atomically(queue_, has_tiles() ? tiles_->rows() : by_destination_.rows(),
                                                by_destination_.edges(), inputs<T>(), views, case_.graph.num_edges());
      }
      simt::attend_backward_to_destinations(queue_, has_tiles() ? tiles_->rows() : by_destination_.rows(),
                                            by_destination_.edges(), inputs<T>(), views, case_.graph.num_edges());
      const simt::DeviceRows& sources = has_tiles() ? tiles_->row_sources() : by_source_;
      simt::attend_backward_to_sources(queue_, sources.rows(), sources.edges(), inputs<T>(), views);
      if (has_tiles()) simt::attend_tiles_backward(queue_, tiles_->tiles(), tiles_->batches(), inputs<T>(), views);
    });
    return results.defined();
  }

  bool has_tiles() const { return tiles_ != nullptr && tiles_->has_tiles(); }

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

  emulator::Queue& queue_;
  const AttentionCase& case_;
  AttentionTensors tensors_;
  AttentionCall call_;
  simt::DeviceRows by_destination_, by_source_;
  std::unique_ptr<simt::DeviceTiles> tiles_;

 public:
  Tensor out, log_sum;
};

/// The same numbers in double precision.
inline AttentionCase widened(AttentionCase c) {
  for (Tensor* tensor : tensors_of(c)) *tensor = cast(*tensor, DType::float64);
  return c;
}

/// Forward against the definition, gradients against the CPU in double precision.
inline void expect_right(const AttentionCase& c, emulator::Order order = emulator::Order::ascending) {
  emulator::Queue queue(order);
  EmulatedAttention emulated(queue, c);
  AttentionCase wide = widened(c);
  wide.options.kernel = AttentionKernel::row;
  expect_close(emulated.out, reference::graph_attention(wide.graph, wide.q, wide.k, wide.v, wide.options).out);
  const Tensor d_out = random_tensor(emulated.out.shape(), DType::float64, 20);
  const std::vector<Tensor> gradients = emulated.gradients(cast(d_out, c.q.dtype())), expected = gradients_of(wide);
  ASSERT_EQ(gradients.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(gradients[i], expected[i], c.q.dtype());
  }
}

}  // namespace bough::test
