#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "bough/ops/cast.h"
#include "kernels/attention/simt/device_tiles.h"
#include "kernels/attention/simt/tensor_cores.h"
#include "kernels/attention/simt/tiles.h"
#include "kernels/attention/simt/tiles_backward.h"
#include "kernels/ops/graph_attention_call.h"
#include "kernels/reference/graph_attention.h"
#include "tests/emulator/engine/matrix_unit.h"
#include "tests/emulator/engine/queue.h"
#include "tests/kernels/graph_attention_cases.h"
#include "tests/support/compare.h"

namespace bough::test {

/// Small enough for several splits of the split rows of the zoo, and the tiles of a graph into several batches.
inline constexpr std::int64_t split_edges = 24, few_columns = 60;

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
        by_destination_(c.graph.csc(), c.graph.edge_types(), Device::cpu(), split_edges),
        by_source_(c.graph.csr(), c.graph.edge_types(), Device::cpu(), split_edges),
        tiles_(c.options.kernel == AttentionKernel::tile
                   ? std::make_unique<simt::DeviceTiles>(c.graph, c.options.relation_keys.defined(), Device::cpu(),
                                                         batch_columns, split_edges)
                   : nullptr),
        out(Tensor::empty({call_.num_dst, call_.heads, call_.value_width}, c.q.dtype())),
        lse(Tensor::empty({call_.num_dst, call_.heads}, accum_type())) {
    if (call_.dropout.active()) call_.dropout.stream = c.options.generator->next_stream();
    visit_stored_floating("emulated", case_.q.dtype(), [&]<typename T>(TypeTag<T>) {
      const AttentionOutputs<T> result{rows<T>(out, call_.value_width), rows<AccumType<T>>(lse, 1)};
      if (has_tiles()) attend_tiles(inputs<T>(), result);
      simt::attend_rows(queue_, has_tiles() ? tiles_->rows() : by_destination_.rows(), by_destination_.edges(),
                        inputs<T>(), result);
    });
  }

  /// In the order of tensors_of.
  std::vector<Tensor> gradients(const Tensor& d_out) {
    AttentionTensors results;
    for (std::size_t i = 0; i < AttentionTensors::count; ++i) {
      const Tensor& input = *tensors_.all()[i];
      if (input.defined()) *results.all()[i] = zeros(input.shape(), i == 0 ? input.dtype() : accum_type());
    }
    Tensor delta = Tensor::empty({call_.num_dst, call_.heads}, accum_type());
    visit_stored_floating("emulated", case_.q.dtype(), [&]<typename T>(TypeTag<T>) {
      using Number = AccumType<T>;
      const auto table = [&](Tensor& tensor, std::int64_t width) {
        return head_rows<Number>(tensor, tensor.defined() && tensor.rank() == 3, call_.heads, width);
      };
      AttentionGradients<T> views{
          .d_out = rows<T>(d_out, call_.value_width),
          .out = rows<T>(std::as_const(out), call_.value_width),
          .lse = rows<Number>(std::as_const(lse), 1),
          .delta = rows<Number>(std::as_const(delta), 1),
          .q = rows<T>(results.q, call_.width),
          .k = rows<Number>(results.k, call_.width),
          .v = rows<Number>(results.v, call_.value_width),
          .relations = {table(results.relation_keys, call_.width), table(results.relation_values, call_.value_width),
                        rows<Number>(results.relation_bias, 1)},
          .num_relations = case_.graph.num_edge_types(),
          .edge_bias = edge_rows<Number>(results.edge_bias, call_.groups[0]),
          .edge_weights = edge_rows<Number>(results.edge_weights, call_.groups[0]),
      };
      simt::attention_delta(queue_, call_.num_dst, inputs<T>(), views.out, views.d_out, rows<Number>(delta, 1));
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
  DType accum_type() const { return case_.q.dtype() == DType::bfloat16 ? DType::float32 : case_.q.dtype(); }
  template <typename T>
  void attend_tiles(const AttentionInputs<T>& in, const AttentionOutputs<T>& result) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      if (call_.tensor_cores) return simt::attend_tiles_on_tensor_cores(queue_, tiles_->tiles(), in, result);
    }
    simt::attend_tiles(queue_, tiles_->tiles(), in, result);
  }
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
  Tensor out, lse;
};

/// The same numbers in double precision.
inline AttentionCase widened(AttentionCase c) {
  for (Tensor* tensor : tensors_of(c)) *tensor = cast(*tensor, DType::float64);
  return c;
}

/// The same numbers, rounded.
inline AttentionCase in_bfloat16(AttentionCase c) {
  for (Tensor* tensor : tensors_of(c)) *tensor = cast(*tensor, DType::bfloat16);
  return c;
}

/// Forward against the definition, gradients against the CPU in double precision.
inline void expect_right(const AttentionCase& c, emulator::Order order = emulator::Order::ascending) {
  emulator::Queue queue(order);
  EmulatedAttention emulated(queue, c);
  AttentionCase wide = widened(c);
  wide.options.kernel = AttentionKernel::row;
  // The result is rounded, and d_out.out of the rounded one is wrong by up to 2^-9 of the sum of its terms' sizes, also
  // where gradients are 0. expect_as_in_float is the sharper test.
  const bool rounded = c.q.dtype() == DType::bfloat16;
  const Tolerance of_result = rounded ? Tolerance{.relative = 0x1p-8, .absolute = 1e-6} : tolerance(c.q.dtype());
  const Tolerance of_gradients = rounded ? Tolerance{.relative = 0x1p-8, .absolute = 0x1p-5} : tolerance(c.q.dtype());
  const std::vector<double> out = reference::graph_attention(wide.graph, wide.q, wide.k, wide.v, wide.options).out;
  expect_close(emulated.out, Tensor::from_vector(out, emulated.out.shape()), of_result);
  const Tensor d_out = cast(random_tensor(emulated.out.shape(), DType::float64, 20), c.q.dtype());
  const std::vector<Tensor> gradients = emulated.gradients(d_out);
  const std::vector<Tensor> expected = gradients_of(wide, cast(d_out, DType::float64));
  ASSERT_EQ(gradients.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(gradients[i], expected[i], of_gradients);
  }
}

/// The kernels of bfloat16 against those of float with the same numbers: the same bits before they are rounded.
inline void expect_as_in_float(const AttentionCase& c) {
  AttentionCase wide = c;
  for (Tensor* tensor : tensors_of(wide)) *tensor = cast(*tensor, DType::float32);
  emulator::Queue queue;
  EmulatedAttention narrow_one(queue, c), wide_one(queue, wide);
  expect_same_bits(narrow_one.lse, wide_one.lse);
  expect_same_bits(narrow_one.out, cast(wide_one.out, DType::bfloat16));
  // Backward works with the result as it was stored.
  wide_one.out = cast(narrow_one.out, DType::float32);
  const Tensor d_out = cast(random_tensor(narrow_one.out.shape(), DType::float32, 20), DType::bfloat16);
  const std::vector<Tensor> gradients = narrow_one.gradients(d_out);
  std::vector<Tensor> expected = wide_one.gradients(cast(d_out, DType::float32));
  expected[0] = cast(expected[0], DType::bfloat16);
  ASSERT_EQ(gradients.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    expect_same_bits(gradients[i], expected[i]);
  }
}

}  // namespace bough::test
