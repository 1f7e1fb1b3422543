#include "bough/ops/gspmm.h"

#include "bough/autograd/autograd.h"
#include "bough/detail/mp/pass_operands.h"
#include "bough/ops/gsddmm.h"
#include "kernels/cpu/gspmm_prod_backward.h"
#include "kernels/cuda/gspmm_prod_backward.h"
#include "kernels/on_device.h"
#include "kernels/ops/message.h"
#include "kernels/ops/message_passes.h"
#include "kernels/views.h"

namespace bough {
namespace {

struct Reduced {
  Tensor result;
  Tensor arg_indices;  ///< defined if asked for
};

/// Rows of an empty sum: zeros where there are edges, the empty value elsewhere. So rare that a GPU gets them from
/// here.
void fill_rows(const Graph& graph, double empty_value, Tensor& result) {
  const CscView csc = graph.csc(EdgeIds::implied);
  Tensor filled = Tensor::empty(result.shape(), result.dtype());
  on_cpu("gspmm", filled, [&]<typename T>(auto, TypeTag<T>) {
    const Rows<T> rows = rows_of<T>(filled);
    for (std::int64_t row = 0; row < rows.count; ++row) {
      std::fill_n(rows[row], rows.width, csc.degree(row) == 0 ? static_cast<T>(empty_value) : T{0});
    }
  });
  result = filled.to(result.device());
}

Reduced reduced_messages(const Graph& graph, const Message& message, ReduceOp reduce, const GspmmOptions& options,
                         bool keep_arg_indices) {
  const bool both = message.lhs.tensor.defined() && message.rhs.tensor.defined();
  const Side& first = message.op == BinaryOp::copy_rhs ? message.rhs : message.lhs;
  const Shape shape = mp::with_rows(graph.num_dst(), message.row);
  Reduced reduced{Tensor::empty(shape, first.tensor.dtype(), first.tensor.device()), {}};
  if (keep_arg_indices) reduced.arg_indices = Tensor::empty(shape, DType::int32, first.tensor.device());
  if (message.sums_over_nothing()) {
    fill_rows(graph, options.empty_value, reduced.result);
    if (keep_arg_indices) reduced.arg_indices.fill(-1);
    return reduced;
  }
  if (shape.elements() == 0) return reduced;

  std::vector<Shape> shapes{mp::row_shape(first.tensor.shape())};
  if (both) shapes.push_back(message.rhs_row);
  shapes.push_back(message.row);
  const mp::FeatureLayout layout = mp::broadcast_layout(message.common, shapes);
  constexpr auto direction = mp::Direction::by_destination;

  on_any_device("gspmm", reduced.result, [&]<typename T>(auto backend, TypeTag<T>) {
    reduce_messages(
        backend, graph,
        MessageReduction<T>{
            .direction = direction,
            .message = {.op = message.op,
                        .lhs = {device_data<T>(first.tensor), mp::end_of(first.target, direction)},
                        .rhs = {both ? device_data<T>(message.rhs.tensor) : nullptr,
                                mp::end_of(message.rhs.target, direction)},
                        .layout = &layout},
            .reduce = reduce,
            .results = {.rows = device_data<T>(reduced.result),
                        .width = message.row.elements(),
                        .arg_indices = keep_arg_indices ? device_data<std::int32_t>(reduced.arg_indices) : nullptr,
                        .empty = static_cast<T>(options.empty_value)},
            .strategy = options.strategy});
  });
  return reduced;
}

template <typename T>
void prod_backward(Cpu cpu, const Graph& graph, Rows<const T> messages, Rows<const T> gradient, Rows<T> result) {
  constexpr auto direction = mp::Direction::by_destination;
  prod_backward(cpu, mp::edges_by(graph, direction), *mp::traversal_plan(graph, direction), messages, gradient, result);
}
template <typename T>
void prod_backward(Cuda gpu, const Graph& graph, Rows<const T> messages, Rows<const T> gradient, Rows<T> result) {
  const auto rows = simt::device_rows(graph, mp::Direction::by_destination, Device::cuda(gpu.device));
  prod_backward(gpu, simt::ProdBackward<T>{rows->edges().offsets, rows->edges().edge_ids, rows->num_rows(),
                                           messages.width, messages.data, gradient.data, result.data});
}

Tensor product_message_gradient(const Graph& graph, const Message& message, const Tensor& gradient) {
  const Tensor messages = gsddmm(graph, message.op, message.lhs.tensor, message.rhs.tensor,
                                 {.lhs = message.lhs.target, .rhs = message.rhs.target});
  Tensor message_gradient = empty_like(messages);
  on_any_device("gspmm", gradient, [&]<typename T>(auto backend, TypeTag<T>) {
    prod_backward(backend, graph, rows_of<T>(std::as_const(messages)), rows_of<T>(gradient),
                  rows_of<T>(message_gradient));
  });
  return message_gradient;
}

/// What flows back into the messages, as a tensor of the smallest size that says it.
MessageGradient message_gradient(const Graph& graph, const Message& message, ReduceOp reduce, const Tensor& gradient,
                                 const Tensor& arg_indices) {
  switch (reduce) {
    case ReduceOp::sum:
    case ReduceOp::max:
    case ReduceOp::min:
      return {{gradient, Target::destination}, arg_indices};
    case ReduceOp::mean:
      return {{mp::divided_by_in_degree(graph, gradient), Target::destination}};
    case ReduceOp::prod:
      break;
  }
  return {{product_message_gradient(graph, message, gradient), Target::edge}};
}

}  // namespace

Tensor gspmm(const Graph& graph, BinaryOp op, ReduceOp reduce, const Tensor& lhs, const Tensor& rhs,
             const GspmmOptions& options) {
  const Message message = checked_message("gspmm", graph, op, {lhs, options.lhs}, {rhs, options.rhs});
  const bool recorded = autograd::should_record({message.lhs.tensor, message.rhs.tensor});
  const bool selects = reduce == ReduceOp::max || reduce == ReduceOp::min;
  Reduced reduced = reduced_messages(graph, message, reduce, options, recorded && selects);
  if (!recorded) return reduced.result;

  auto [saved_lhs, saved_rhs] = saved_operands(message);
  if (reduce == ReduceOp::prod) {  // its gradient needs the messages again
    saved_lhs = message.lhs.tensor;
    saved_rhs = message.rhs.tensor;
  }
  return autograd::record(
      {.name = "gspmm",
       .inputs = {message.lhs.tensor, message.rhs.tensor},
       .saved = {saved_lhs, saved_rhs, reduced.arg_indices},
       .backward = [graph, reduce, kept = without_tensors(message)](const BackwardCall& call) -> Gradients {
         Message restored = kept;
         restored.lhs.tensor = call.saved(0);
         restored.rhs.tensor = call.saved(1);
         const MessageGradient gradient = message_gradient(graph, restored, reduce, call.gradient(), call.saved(2));
         auto [dlhs, drhs] = operand_gradients(graph, restored, gradient, call.needs(0), call.needs(1));
         return {dlhs, drhs};
       }},
      reduced.result);
}

}  // namespace bough
