#pragma once

#include "bough/core/tensor.h"
#include "bough/detail/mp/adjacency.h"
#include "bough/graph/graph.h"
#include "bough/mp/operators.h"
#include "kernels/cpu/message_dispatch.h"

/// What gsddmm and gspmm share: checked operands, their shapes, and the gradients of a message's operands.
namespace bough {

/// One operand of a message. The tensor is undefined if the message does not read it.
struct Side {
  Tensor tensor;
  Target target = Target::edge;
};

/// A message whose operands have been checked against the graph and each other.
struct Message {
  BinaryOp op = BinaryOp::copy_lhs;
  Side lhs, rhs;
  Shape lhs_row, rhs_row;  ///< features of the operands
  Shape common;            ///< what they broadcast to
  Shape row;               ///< features of the message: common, or with the last axis 1 for dot

  bool sums_over_nothing() const { return common.elements() == 0 && row.elements() > 0; }
};

/// ShapeError, TypeError or DeviceError naming the operand, its shape and what the graph has.
Message checked_message(std::string_view where, const Graph& graph, BinaryOp op, Side lhs, Side rhs);

/// The gradient of a message, or for max and min that of the result and the arg indices.
struct MessageGradient {
  Side values;
  Tensor arg_indices = {};
};

/// Gradients to lhs and rhs, each undefined unless wanted. `message` holds the operands they need, see saved_operands.
std::pair<Tensor, Tensor> operand_gradients(const Graph& graph, const Message& message, const MessageGradient& gradient,
                                            bool lhs_wanted, bool rhs_wanted);

/// The operands that operand_gradients will read, the others undefined.
std::pair<Tensor, Tensor> saved_operands(const Message& message);

/// The message without its tensors, to be kept by a backward function.
Message without_tensors(Message message);

}  // namespace bough
