#include "bough/ops/gsddmm.h"

#include "bough/autograd/autograd.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/ops/message.h"
#include "kernels/ops/message_passes.h"

namespace bough {
namespace {

Tensor messages_of(const Graph& graph, const Message& message) {
  const Side& first = message.op == BinaryOp::copy_rhs ? message.rhs : message.lhs;
  Tensor result =
      Tensor::empty(mp::with_rows(graph.num_edges(), message.row), first.tensor.dtype(), first.tensor.device());
  if (message.sums_over_nothing()) return result.zero();
  if (result.elements() == 0) return result;

  std::vector<Shape> shapes{mp::row_shape(first.tensor.shape())};
  const bool both = message.lhs.tensor.defined() && message.rhs.tensor.defined();
  if (both) shapes.push_back(message.rhs_row);
  shapes.push_back(message.row);
  const mp::FeatureLayout layout = mp::broadcast_layout(message.common, shapes);
  const bool reads_destinations =
      first.target == Target::destination || (both && message.rhs.target == Target::destination);

  on_any_device("gsddmm", result, [&]<typename T>(auto backend, TypeTag<T>) {
    const auto end = [](const Side& side) { return mp::end_of(side.target, mp::Direction::by_destination); };
    map_messages(backend, graph, reads_destinations,
                 MessageArguments<T>{.op = message.op,
                                     .lhs = {device_data<T>(first.tensor), end(first)},
                                     .rhs = {both ? device_data<T>(message.rhs.tensor) : nullptr, end(message.rhs)},
                                     .layout = &layout},
                 device_data<T>(result));
  });
  return result;
}

}  // namespace

Tensor gsddmm(const Graph& graph, BinaryOp op, const Tensor& lhs, const Tensor& rhs, const GsddmmOptions& options) {
  const Message message = checked_message("gsddmm", graph, op, {lhs, options.lhs}, {rhs, options.rhs});
  Tensor result = messages_of(graph, message);
  if (!autograd::should_record({message.lhs.tensor, message.rhs.tensor})) return result;

  const auto [saved_lhs, saved_rhs] = saved_operands(message);
  return autograd::record({.name = "gsddmm",
                           .inputs = {message.lhs.tensor, message.rhs.tensor},
                           .saved = {saved_lhs, saved_rhs},
                           .backward = [graph, kept = without_tensors(message)](const BackwardCall& call) -> Gradients {
                             Message restored = kept;
                             restored.lhs.tensor = call.saved(0);
                             restored.rhs.tensor = call.saved(1);
                             auto [dlhs, drhs] = operand_gradients(graph, restored, {{call.gradient(), Target::edge}},
                                                                   call.needs(0), call.needs(1));
                             return {dlhs, drhs};
                           }},
                          result);
}

}  // namespace bough
