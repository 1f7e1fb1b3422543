#include "bough/ops/graph_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bough/autograd/autograd.h"
#include "bough/detail/simt/device_rows.h"
#include "bough/ops/cast.h"
#include "kernels/attention/cpu/rows.h"
#include "kernels/attention/cpu/tiles.h"
#include "kernels/attention/cuda/rows.h"
#include "kernels/attention/cuda/tensor_cores.h"
#include "kernels/attention/cuda/tiles.h"
#include "kernels/attention/simt/device_tiles.h"
#include "kernels/on_device.h"
#include "kernels/ops/graph_attention_call.h"

namespace bough {
namespace {

struct DestinationSchedule : RowSchedule {};
struct SourceSchedule : RowSchedule {};

/// Edges by one end with their schedule, which the graph keeps.
struct ScheduledEdges {
  std::shared_ptr<const RowSchedule> schedule;
  AttentionEdges edges;
};

ScheduledEdges by_destination(const Graph& graph) {
  const auto schedule =
      graph.cached<DestinationSchedule>([&] { return DestinationSchedule{make_row_schedule(graph.csc())}; });
  return {schedule, {graph.csc(), graph.edge_types(), schedule.get()}};
}

ScheduledEdges by_source(const Graph& graph) {
  const auto schedule = graph.cached<SourceSchedule>([&] { return SourceSchedule{make_row_schedule(graph.csr())}; });
  return {schedule, {graph.csr(), graph.edge_types(), schedule.get()}};
}

struct AttentionResult {
  Tensor out, lse;
};

template <typename T>
bool uses_tiles(const AttentionCall& call, const AttentionInputs<T>& in) {
  if (call.kernel == AttentionKernel::tile && !tiles_can_take(in)) {
    throw ConfigError("graph_attention",
                      "tiles take relation_keys and dropout only; leave the choice to AttentionKernel::automatic");
  }
  return call.kernel != AttentionKernel::row && tiles_can_take(in);
}

template <typename T>
void attend_group(Cpu cpu, const AttentionCall& call, const HeadGroup& group, const AttentionInputs<T>& in,
                  const AttentionOutputs<T>& result) {
  if (!uses_tiles(call, in)) return attend_rows(cpu, by_destination(group.graph).edges, in, result);
  const auto plan = attention_plan(group.graph, in.uses_relations());
  attend_tiles(cpu, *plan, in, result);
  attend_rows(cpu, {group.graph.csc(), group.graph.edge_types(), &plan->rows}, in, result);
}

/// The tiles that a GPU takes of a call, or null if there are none for it.
template <typename T>
std::shared_ptr<const simt::DeviceTiles> tiles_for(Cuda gpu, const AttentionCall& call, const HeadGroup& group,
                                                   const AttentionInputs<T>& in) {
  if (!uses_tiles(call, in)) return nullptr;
  constexpr std::int64_t most = simt::most_tile_features<T>;
  if (in.width > most || in.value_width > most) {
    if (call.kernel != AttentionKernel::tile) return nullptr;
    throw DeviceError("graph_attention",
                      fmt::format("tiles take heads of up to {} features on a GPU, these have {}; leave the choice to "
                                  "AttentionKernel::automatic",
                                  most, std::max(in.width, in.value_width)));
  }
  auto tiles = simt::device_tiles(group.graph, in.uses_relations(), in.heads, Device::cuda(gpu.device));
  return tiles->has_tiles() ? tiles : nullptr;
}

template <typename T>
void attend_device_tiles(Cuda gpu, const AttentionCall& call, const simt::TileView& tiles, const AttentionInputs<T>& in,
                         const AttentionOutputs<T>& result) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (call.tensor_cores) return attend_tiles_on_tensor_cores(gpu, tiles, in, result);
  }
  attend_tiles(gpu, tiles, in, result);
}

template <typename T>
void attend_group(Cuda gpu, const AttentionCall& call, const HeadGroup& group, const AttentionInputs<T>& in,
                  const AttentionOutputs<T>& result) {
  const auto rows = simt::device_rows(group.graph, mp::Direction::by_destination, Device::cuda(gpu.device));
  const auto tiles = tiles_for(gpu, call, group, in);
  if (tiles == nullptr) return attend_rows(gpu, rows->rows(), rows->edges(), in, result);
  attend_device_tiles(gpu, call, tiles->tiles(), in, result);
  if (tiles->rows().num_items > 0) attend_rows(gpu, tiles->rows(), rows->edges(), in, result);
}

/// What a call with tensors of this type computes in.
DType accum_type(DType dtype) { return dtype == DType::bfloat16 ? DType::float32 : dtype; }

/// on_any_device, where a GPU takes bfloat16 too.
template <typename F>
void on_attention_device(const Tensor& tensor, const F& f) {
  with_backend(tensor, [&]<typename Backend>(Backend backend) {
    if constexpr (std::is_same_v<Backend, Cuda>) {
      visit_stored_floating("graph_attention", tensor.dtype(), [&](auto type) { f(backend, type); });
    } else {
      visit_floating("graph_attention", tensor.dtype(), [&](auto type) { f(backend, type); });
    }
  });
}

AttentionResult attend(const AttentionCall& call, const AttentionTensors& tensors) {
  const Tensor& q = tensors.q;
  AttentionResult result{Tensor::empty({call.num_dst, call.heads, call.value_width}, q.dtype(), q.device()),
                         Tensor::empty({call.num_dst, call.heads}, accum_type(q.dtype()), q.device())};
  on_attention_device(q, [&](auto backend, auto type) {
    using T = typename decltype(type)::type;
    for (const HeadGroup& group : call.groups) {
      attend_group(backend, call, group, call.inputs<T>(tensors, group),
                   AttentionOutputs<T>{head_rows<T>(result.out, true, call.heads, call.value_width, group.first_head),
                                       head_rows<AccumType<T>>(result.lse, true, call.heads, 1, group.first_head)});
    }
  });
  return result;
}

template <typename T>
AttentionGradients<T> gradient_views(const AttentionCall& call, const HeadGroup& group, AttentionTensors& gradients) {
  using Number = AccumType<T>;
  const auto table = [&](Tensor& tensor, std::int64_t width) {
    return head_rows<Number>(tensor, tensor.defined() && tensor.rank() == 3, call.heads, width, group.first_head);
  };
  AttentionGradients<T> views;
  views.q = head_rows<T>(gradients.q, true, call.heads, call.width, group.first_head);
  views.k = head_rows<Number>(gradients.k, true, call.heads, call.width, group.first_head);
  views.v = head_rows<Number>(gradients.v, true, call.heads, call.value_width, group.first_head);
  views.relations = {table(gradients.relation_keys, call.width), table(gradients.relation_values, call.value_width),
                     head_rows<Number>(gradients.relation_bias, true, call.heads, 1, group.first_head)};
  views.num_relations = group.graph.num_edge_types();
  views.edge_bias = edge_rows<Number>(gradients.edge_bias, group);
  views.edge_weights = edge_rows<Number>(gradients.edge_weights, group);
  return views;
}

template <typename T>
void backward_group(Cpu cpu, const AttentionCall& call, const HeadGroup& group, const AttentionInputs<T>& in,
                    const AttentionGradients<T>& gradients, HeadRows<T> delta) {
  const auto rows_backward = [&](const AttentionEdges& to_destinations, const AttentionEdges& to_sources,
                                 bool accumulate) {
    attention_delta(cpu, *to_destinations.schedule, in, gradients.out, gradients.d_out, delta);
    if (gradients.flow_to_destinations()) attend_rows_backward_to_destinations(cpu, to_destinations, in, gradients);
    if (gradients.flow_to_sources()) attend_rows_backward_to_sources(cpu, to_sources, in, gradients, accumulate);
  };
  const Graph& graph = group.graph;
  if (!uses_tiles(call, in)) return rows_backward(by_destination(graph).edges, by_source(graph).edges, false);
  const auto plan = attention_plan(graph, in.uses_relations());
  if (!plan->has_tiles()) {
    return rows_backward({graph.csc(), graph.edge_types(), &plan->rows}, by_source(graph).edges, false);
  }
  attend_tiles_backward(cpu, *plan, in, gradients);
  if (plan->has_rows()) {
    rows_backward({graph.csc(), graph.edge_types(), &plan->rows},
                  {plan->row_edges_by_source(), graph.edge_types(), &plan->row_sources}, true);
  }
}

template <typename T>
void backward_group(Cuda gpu, const AttentionCall& call, const HeadGroup& group, const AttentionInputs<T>& in,
                    const AttentionGradients<T>& gradients, HeadRows<AccumType<T>> delta) {
  const Device device = Device::cuda(gpu.device);
  const auto tiles = tiles_for(gpu, call, group, in);
  const auto to_destinations = [&](const simt::RowItemView& rows, const simt::EdgeView& edges) {
    if (rows.num_items == 0 || !gradients.flow_to_destinations()) return;
    attend_rows_backward_to_destinations(gpu, rows, edges, in, gradients, group.graph.num_edges());
  };
  const auto to_sources = [&](const simt::DeviceRows& rows) {
    if (gradients.flow_to_sources()) attend_rows_backward_to_sources(gpu, rows.rows(), rows.edges(), in, gradients);
  };
  attention_delta(gpu, call.num_dst, in, gradients.out, gradients.d_out, delta);
  const auto by_destination = simt::device_rows(group.graph, mp::Direction::by_destination, device);
  if (!call.deterministic) {
    if (tiles != nullptr) attend_tiles_backward_atomically(gpu, tiles->tiles(), in, gradients);
    const simt::RowItemView rows = tiles != nullptr ? tiles->rows() : by_destination->rows();
    return attend_rows_backward_atomically(gpu, rows, by_destination->edges(), in, gradients, group.graph.num_edges());
  }
  if (tiles == nullptr) {
    to_destinations(by_destination->rows(), by_destination->edges());
    return to_sources(*simt::device_rows(group.graph, mp::Direction::by_source, device));
  }
  // Tiles add to the gradients of sources that the rows have written.
  to_destinations(tiles->rows(), by_destination->edges());
  to_sources(tiles->row_sources());
  attend_tiles_backward(gpu, tiles->tiles(), tiles->batches(), in, gradients);
}

/// With p the weights of the sum and dp = d_out.v: d_score = p (dp - d_out.out); from there
///   d_q = scale sum of d_score k,  d_k = scale sum of d_score q,  d_v = sum of p d_out,
/// and the same for tables and edge tensors. p comes from the scores, computed again, and the saved lse.
AttentionTensors attend_backward(const AttentionCall& call, const AttentionTensors& tensors,
                                 const AttentionResult& result, const Tensor& d_out,
                                 const std::array<bool, AttentionTensors::count>& wanted) {
  AttentionTensors inputs = tensors, gradients;
  // Gradients of tables are added to what is there; where sums are atomic, so are those of k and v.
  const std::size_t written = call.deterministic || d_out.device().kind == Device::Kind::cpu ? 3 : 1;
  const DType computed = accum_type(d_out.dtype());
  for (std::size_t i = 0; i < AttentionTensors::count; ++i) {
    if (!wanted[i]) continue;
    const DType dtype = i == 0 ? d_out.dtype() : computed;  // that of q is no sum of several kernels' work
    const Shape& shape = inputs.all()[i]->shape();
    *gradients.all()[i] =
        i < written ? Tensor::empty(shape, dtype, d_out.device()) : zeros(shape, dtype, d_out.device());
  }
  Tensor delta = Tensor::empty({call.num_dst, call.heads}, computed, d_out.device());
  on_attention_device(d_out, [&](auto backend, auto type) {
    using T = typename decltype(type)::type;
    for (const HeadGroup& group : call.groups) {
      const AttentionInputs<T> in = call.inputs<T>(tensors, group);
      AttentionGradients<T> views = gradient_views<T>(call, group, gradients);
      views.d_out = head_rows<T>(d_out, true, call.heads, call.value_width, group.first_head);
      views.out = head_rows<T>(result.out, true, call.heads, call.value_width, group.first_head);
      views.lse = head_rows<AccumType<T>>(result.lse, true, call.heads, 1, group.first_head);
      const HeadRows<AccumType<T>> deltas = head_rows<AccumType<T>>(delta, true, call.heads, 1, group.first_head);
      views.delta = {deltas.data, deltas.row_stride, deltas.head_stride};
      backward_group(backend, call, group, in, views, deltas);
    }
  });
  for (Tensor* gradient : gradients.all()) {
    if (gradient->defined()) *gradient = cast(*gradient, d_out.dtype());
  }
  return gradients;
}

AttentionTensors tensors_of(const Tensor& q, const Tensor& k, const Tensor& v, const GraphAttentionOptions& options) {
  return {q,
          k,
          v,
          options.relation_keys,
          options.relation_values,
          options.relation_bias,
          options.edge_bias,
          options.edge_weights};
}

/// Kernels take bfloat16 on a GPU only; elsewhere numbers are converted.
bool is_converted(const AttentionTensors& tensors, AttentionKernel kernel) {
  return tensors.q.dtype() == DType::bfloat16 &&
         (kernel == AttentionKernel::unfused || tensors.q.device().kind == Device::Kind::cpu);
}

AttentionTensors converted(AttentionTensors tensors, DType dtype) {
  for (Tensor* tensor : tensors.all()) {
    if (tensor->defined()) *tensor = cast(*tensor, dtype);
  }
  return tensors;
}

/// The gradient stands beside: what attend_backward gives, for the tensors that are there.
Tensor fused_attention(const AttentionCall& call, const AttentionTensors& tensors) {
  const AttentionResult result = attend(call, tensors);
  const auto present = tensors.present();
  std::vector<Tensor> saved = tensors.defined();
  saved.push_back(result.out);
  saved.push_back(result.lse);
  return autograd::record(
      {.name = "graph_attention",
       .inputs = tensors.defined(),
       .saved = saved,
       .backward =
           [call, present](const BackwardCall& backward) {
             std::vector<Tensor> kept;
             std::array<bool, AttentionTensors::count> wanted{};
             for (std::size_t i = 0; i < AttentionTensors::count; ++i) {
               if (!present[i]) continue;
               wanted[i] = backward.needs(kept.size());
               kept.push_back(backward.saved(kept.size()));
             }
             const AttentionResult saved_result{backward.saved(kept.size()), backward.saved(kept.size() + 1)};
             AttentionTensors gradients = attend_backward(call, AttentionTensors::from(kept, present), saved_result,
                                                          backward.gradient(), wanted);
             Gradients in_order;
             for (std::size_t i = 0; i < AttentionTensors::count; ++i) {
               if (present[i]) in_order.push_back(*gradients.all()[i]);
             }
             return in_order;
           }},
      result.out);
}

}  // namespace

Tensor graph_attention(const Graph& graph, const Tensor& q, const Tensor& k, const Tensor& v,
                       const GraphAttentionOptions& options) {
  return graph_attention(std::span(&graph, 1), q, k, v, options);
}

Tensor graph_attention(std::span<const Graph> graphs, const Tensor& q, const Tensor& k, const Tensor& v,
                       const GraphAttentionOptions& options) {
  const AttentionTensors tensors = tensors_of(q, k, v, options);
  AttentionCall call = check_attention("graph_attention", graphs, tensors, options);
  if (call.dropout.active()) {
    RandomGenerator& generator = options.generator != nullptr ? *options.generator : default_generator();
    call.dropout.stream = generator.next_stream();
  }
  const auto attend_to = [&call](const AttentionTensors& given) {
    return call.kernel == AttentionKernel::unfused ? unfused_attention(call, given) : fused_attention(call, given);
  };
  if (!is_converted(tensors, call.kernel)) return attend_to(tensors);
  return cast(attend_to(converted(tensors, DType::float32)), DType::bfloat16);
}

Tensor attention_weights(const Graph& graph, const Tensor& q, const Tensor& k, const GraphAttentionOptions& options) {
  GraphAttentionOptions without = options;
  without.dropout = 0;
  without.relation_values = {};
  AttentionTensors tensors = tensors_of(q, k, k, without);
  AttentionCall call = check_attention("attention_weights", std::span(&graph, 1), tensors, without);
  // Tiles leave a constant out of the scores of rows with one relation, and so out of their lse.
  call.kernel = AttentionKernel::row;
  const NoGrad no_grad;
  if (q.dtype() == DType::bfloat16) tensors = converted(tensors, DType::float32);
  if (q.device().kind != Device::Kind::cpu) return unfused_weights(call, tensors);
  const AttentionResult result = attend(call, tensors);
  Tensor weights = Tensor::empty({graph.num_edges(), call.heads}, tensors.q.dtype());
  on_cpu("attention_weights", tensors.q, [&](auto backend, auto type) {
    using T = typename decltype(type)::type;
    attention_weights(backend, by_destination(graph).edges, call.inputs<T>(tensors, call.groups[0]),
                      head_rows<T>(std::as_const(result.lse), true, call.heads, 1),
                      head_rows<T>(weights, true, call.heads, 1));
  });
  return weights;
}

}  // namespace bough
