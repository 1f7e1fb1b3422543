#include "kernels/ops/message.h"

#include <fmt/format.h>

#include "bough/ops/arithmetic.h"
#include "kernels/cpu/scatter_arg_indices.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/ops/message_passes.h"
#include "kernels/views.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

void require_rows(std::string_view where, const Graph& graph, const char* name, const Side& side) {
  const std::int64_t rows = mp::rows_of_target(graph, side.target);
  throw_if_missing(side.tensor);
  if (!side.tensor.defined()) {
    throw ShapeError(where, fmt::format("{} is undefined, but the message reads it", name));
  }
  if (side.tensor.rank() == 0 || side.tensor.size(0) != rows) {
    throw ShapeError(where, fmt::format("{} {} must have one row for each {}, the graph has {}", name,
                                        to_string(side.tensor.shape()), name_of(side.target), rows));
  }
  if (!is_floating(side.tensor.dtype())) {
    throw TypeError(where, fmt::format("{} must be float32 or float64, it is {}; cast() converts", name,
                                       name_of(side.tensor.dtype())));
  }
}

bool reads_both(BinaryOp op) { return op != BinaryOp::copy_lhs && op != BinaryOp::copy_rhs; }

/// A sum of op(lhs, rhs) over edges and features, into the rows of a target.
struct Contraction {
  BinaryOp op = BinaryOp::copy_lhs;
  Side lhs, rhs;
  Tensor arg_indices = {};
  Shape common;
};

/// From this mean degree on, finding the edges that did not win costs more than writing where the arg_indices came
/// from, which is all over the place.
constexpr std::int64_t least_scattered_degree = 64;

/// For each edge the row of a target; null for its own.
const std::int32_t* rows_by_edge(const Graph& graph, Target target) {
  if (target == Target::edge) return nullptr;
  const CooView edges = graph.coo();
  return target == Target::source ? edges.src.data() : edges.dst.data();
}

Tensor add_up(const Graph& graph, const Contraction& sum, Target target, const Shape& row) {
  Tensor result = Tensor::empty(mp::with_rows(mp::rows_of_target(graph, target), row), sum.lhs.tensor.dtype(),
                                sum.lhs.tensor.device());
  if (result.elements() == 0) return result;
  if (sum.common.elements() == 0 || graph.num_edges() == 0) return result.zero();

  const bool whole_rows = sum.op == BinaryOp::copy_lhs && row == sum.common;
  const bool few_win = graph.num_edges() >= least_scattered_degree * graph.num_dst();
  if (sum.arg_indices.defined() && whole_rows && few_win && result.device() == Device::cpu()) {
    on_cpu("message gradient", result, [&]<typename T>(Cpu cpu, TypeTag<T>) {
      scatter_arg_indices(cpu, rows_of<T>(sum.lhs.tensor), rows_of<std::int32_t>(sum.arg_indices),
                          rows_by_edge(graph, target), rows_of<T>(result));
    });
    return result;
  }

  std::vector<Shape> shapes{mp::row_shape(sum.lhs.tensor.shape())};
  if (reads_both(sum.op)) shapes.push_back(mp::row_shape(sum.rhs.tensor.shape()));
  shapes.push_back(row);
  const mp::FeatureLayout layout = mp::broadcast_layout(sum.common, shapes);

  on_any_device("message gradient", result, [&]<typename T>(auto backend, TypeTag<T>) {
    const auto direction = target == Target::source ? mp::Direction::by_source : mp::Direction::by_destination;
    const auto operand_of = [&](const Side& side) {
      return OperandRows<T>{side.tensor.defined() ? device_data<T>(side.tensor) : nullptr,
                            mp::end_of(side.target, direction)};
    };
    const bool both = reads_both(sum.op);
    const MessageArguments<T> message{
        .op = sum.op,
        .lhs = operand_of(sum.lhs),
        .rhs = both ? operand_of(sum.rhs) : OperandRows<T>{},
        .arg_indices = sum.arg_indices.defined() ? device_data<std::int32_t>(sum.arg_indices) : nullptr,
        .layout = &layout};
    if (target == Target::edge) {
      const bool reads_destinations =
          sum.lhs.target == Target::destination || (both && sum.rhs.target == Target::destination);
      return map_messages(backend, graph, reads_destinations, message, device_data<T>(result));
    }
    reduce_messages(backend, graph,
                    MessageReduction<T>{.direction = direction,
                                        .message = message,
                                        .results = {.rows = device_data<T>(result), .width = row.elements()}});
  });
  return result;
}

}  // namespace

Message checked_message(std::string_view where, const Graph& graph, BinaryOp op, Side lhs, Side rhs) {
  if (op == BinaryOp::copy_lhs) rhs.tensor = {};
  if (op == BinaryOp::copy_rhs) lhs.tensor = {};
  if (op != BinaryOp::copy_rhs) require_rows(where, graph, "lhs", lhs);
  if (op != BinaryOp::copy_lhs) require_rows(where, graph, "rhs", rhs);
  require_same_device(where, {lhs.tensor, rhs.tensor});

  Message message{
      .op = op, .lhs = std::move(lhs), .rhs = std::move(rhs), .lhs_row = {}, .rhs_row = {}, .common = {}, .row = {}};
  if (message.lhs.tensor.defined()) message.lhs_row = mp::row_shape(message.lhs.tensor.shape());
  if (message.rhs.tensor.defined()) message.rhs_row = mp::row_shape(message.rhs.tensor.shape());
  if (!reads_both(op)) {
    message.common = message.row = op == BinaryOp::copy_lhs ? message.lhs_row : message.rhs_row;
    return message;
  }
  if (message.lhs.tensor.dtype() != message.rhs.tensor.dtype()) {
    throw TypeError(where, fmt::format("lhs is {}, rhs {}; they must have the same type, cast() converts",
                                       name_of(message.lhs.tensor.dtype()), name_of(message.rhs.tensor.dtype())));
  }
  message.common = message.row = broadcast_shapes(std::string(where).c_str(), message.lhs_row, message.rhs_row);
  if (op == BinaryOp::dot) {
    const std::int64_t lhs_last = message.lhs_row.rank() == 0 ? 1 : message.lhs_row[-1];
    const std::int64_t rhs_last = message.rhs_row.rank() == 0 ? 1 : message.rhs_row[-1];
    if (lhs_last != rhs_last) {
      throw ShapeError(where,
                       fmt::format("dot needs operands with the same last axis, lhs is {}, rhs {}",
                                   to_string(message.lhs.tensor.shape()), to_string(message.rhs.tensor.shape())));
    }
    if (message.common.rank() > 0) message.row = message.common.with(-1, 1);
  }
  return message;
}

std::pair<Tensor, Tensor> saved_operands(const Message& message) {
  const bool lhs_wanted = message.lhs.tensor.requires_grad();
  const bool rhs_wanted = message.rhs.tensor.requires_grad();
  switch (message.op) {
    case BinaryOp::mul:
    case BinaryOp::dot:
      return {rhs_wanted ? message.lhs.tensor : Tensor{}, lhs_wanted ? message.rhs.tensor : Tensor{}};
    case BinaryOp::div:
      return {rhs_wanted ? message.lhs.tensor : Tensor{}, message.rhs.tensor};
    default:
      return {};
  }
}

Message without_tensors(Message message) {
  message.lhs.tensor = {};
  message.rhs.tensor = {};
  return message;
}

// With dm the gradient of the message, each summed over the edges of a row and over broadcast axes:
//   a + b: da = dm, db = dm     a - b: da = dm, db = -dm     a * b and a . b: da = dm b, db = dm a
//   a / b: da = dm / b, db = -dm a / b^2, where 1 / b^2 is the same for all terms of one sum and leaves it
std::pair<Tensor, Tensor> operand_gradients(const Graph& graph, const Message& message, const MessageGradient& gradient,
                                            bool lhs_wanted, bool rhs_wanted) {
  const auto sum = [&](BinaryOp op, const Side& other, const Side& wanted, const Shape& row) {
    return add_up(graph, {op, gradient.values, other, gradient.arg_indices, message.common}, wanted.target, row);
  };
  const auto to_lhs = [&](BinaryOp op) { return sum(op, message.rhs, message.lhs, message.lhs_row); };
  const auto to_rhs = [&](BinaryOp op) { return sum(op, message.lhs, message.rhs, message.rhs_row); };

  Tensor lhs, rhs;
  switch (message.op) {
    case BinaryOp::add:
    case BinaryOp::copy_lhs:
    case BinaryOp::copy_rhs:
      if (lhs_wanted) lhs = to_lhs(BinaryOp::copy_lhs);
      if (rhs_wanted) rhs = to_rhs(BinaryOp::copy_lhs);
      break;
    case BinaryOp::sub:
      if (lhs_wanted) lhs = to_lhs(BinaryOp::copy_lhs);
      if (rhs_wanted) rhs = neg(to_rhs(BinaryOp::copy_lhs));
      break;
    case BinaryOp::mul:
    case BinaryOp::dot:
      if (lhs_wanted) lhs = to_lhs(BinaryOp::mul);
      if (rhs_wanted) rhs = to_rhs(BinaryOp::mul);
      break;
    case BinaryOp::div:
      if (lhs_wanted) lhs = to_lhs(BinaryOp::div);
      if (rhs_wanted) rhs = neg(to_rhs(BinaryOp::mul)) / square(message.rhs.tensor);
      break;
  }
  return {lhs, rhs};
}

}  // namespace bough
