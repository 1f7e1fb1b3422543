#pragma once

#include <tuple>
#include <utility>

#include "bough/detail/mp/edge_kernel.h"
#include "bough/mp/operators.h"

/// From run-time descriptions of messages to the templates in bough/mp: the one place where operators, broadcasting and
/// types meet.
namespace bough {

template <typename T>
struct OperandRows {
  const T* rows = nullptr;
  mp::End end = mp::End::edge;
};

/// A message of one or two operands. The layout's operands are the operands, then the result.
template <typename T>
struct MessageArguments {
  BinaryOp op = BinaryOp::copy_lhs;  ///< never copy_rhs; dot is mul with a result that lacks the inner axis
  OperandRows<T> lhs = {};
  OperandRows<T> rhs = {};
  /// If given, lhs is the gradient of a maximum or minimum, and only the selected edges receive it.
  const std::int32_t* arg_indices = nullptr;
  const mp::FeatureLayout* layout = nullptr;

  const mp::FeatureLayout::Operand& result() const { return layout->operands.back(); }
};

template <int Step, typename T, typename Rows>
mp::Operand<T, Step> operand(const Rows* rows, mp::End end, const mp::FeatureLayout::Operand& features) {
  return {rows, features.width, end, features.offsets.data(), Step};
}

template <int ResultStep, typename T, typename Message, typename... Operands>
auto make_kernel(const Message& message, const std::tuple<Operands...>& operands,
                 const mp::FeatureLayout::Operand& result) {
  return mp::EdgeKernel<T, ResultStep, Message, Operands...>{message, operands, result.offsets.data()};
}

/// Messages that read lhs as it is.
struct PlainLeft {
  template <typename Message>
  static Message wrap(const Message& message) {
    return message;
  }
  template <int Step, typename T>
  static auto lhs(const MessageArguments<T>& arguments) {
    return std::make_tuple(operand<Step, T>(arguments.lhs.rows, arguments.lhs.end, arguments.layout->operands[0]));
  }
};

/// Messages that read lhs only where the edge was selected.
struct ArgIndicesOnly {
  template <typename Message>
  static mp::FromArgIndex<Message> wrap(const Message& message) {
    return {message};
  }
  template <int Step, typename T>
  static auto lhs(const MessageArguments<T>& arguments) {
    const mp::FeatureLayout::Operand& features = arguments.layout->operands[0];
    return std::make_tuple(operand<Step, T>(arguments.lhs.rows, arguments.lhs.end, features),
                           operand<Step, std::int32_t>(arguments.arg_indices, arguments.lhs.end, features));
  }
};

template <typename Left, int ResultStep, int LeftStep, int RightStep, typename T, typename Message, typename F>
void with_two_operands(const Message& message, const MessageArguments<T>& arguments, F&& f) {
  const auto operands = std::tuple_cat(
      Left::template lhs<LeftStep>(arguments),
      std::make_tuple(operand<RightStep, T>(arguments.rhs.rows, arguments.rhs.end, arguments.layout->operands[1])));
  f(make_kernel<ResultStep, T>(Left::wrap(message), operands, arguments.result()));
}

/// Element by element, for a message that does not mind the order: rhs is the one that may lack the inner axis.
template <typename T, typename Message, typename F>
void with_symmetric(const Message& message, MessageArguments<T> arguments, F&& f) {
  mp::FeatureLayout swapped;
  if (arguments.layout->operands[0].step == 0) {
    swapped = *arguments.layout;
    std::swap(swapped.operands[0], swapped.operands[1]);
    std::swap(arguments.lhs, arguments.rhs);
    arguments.layout = &swapped;
  }
  if (arguments.layout->operands[1].step == 0) {
    with_two_operands<PlainLeft, 1, 1, 0>(message, arguments, f);
  } else {
    with_two_operands<PlainLeft, 1, 1, 1>(message, arguments, f);
  }
}

/// Element by element: at most one of the operands lacks the inner axis.
template <typename Left, typename T, typename Message, typename F>
void with_elementwise(const Message& message, const MessageArguments<T>& arguments, F&& f) {
  if (arguments.layout->operands[0].step == 0) {
    with_two_operands<Left, 1, 0, 1>(message, arguments, f);
  } else if (arguments.layout->operands[1].step == 0) {
    with_two_operands<Left, 1, 1, 0>(message, arguments, f);
  } else {
    with_two_operands<Left, 1, 1, 1>(message, arguments, f);
  }
}

/// The same, or summed over the inner axis, which then both operands have.
template <typename Left, typename T, typename Message, typename F>
void with_elementwise_or_summed(const Message& message, const MessageArguments<T>& arguments, F&& f) {
  if (arguments.result().step == 0) {
    with_two_operands<Left, 0, 1, 1>(message, arguments, f);
  } else {
    with_elementwise<Left>(message, arguments, f);
  }
}

template <typename Left, typename T, typename F>
void with_copy(const MessageArguments<T>& arguments, F&& f) {
  const auto operands = Left::template lhs<1>(arguments);
  if (arguments.result().step == 0) {
    f(make_kernel<0, T>(Left::wrap(mp::Copy{}), operands, arguments.result()));
  } else {
    f(make_kernel<1, T>(Left::wrap(mp::Copy{}), operands, arguments.result()));
  }
}

/// Calls f(kernel) with the EdgeKernel for these messages.
template <typename T, typename F>
void with_message(const MessageArguments<T>& arguments, F&& f) {
  switch (arguments.op) {
    case BinaryOp::add:
      return with_symmetric(mp::Add{}, arguments, f);
    case BinaryOp::sub:
      return with_elementwise<PlainLeft>(mp::Subtract{}, arguments, f);
    case BinaryOp::mul:
    case BinaryOp::dot:
      if (arguments.result().step == 0) return with_two_operands<PlainLeft, 0, 1, 1>(mp::Multiply{}, arguments, f);
      return with_symmetric(mp::Multiply{}, arguments, f);
    case BinaryOp::div:
      return with_elementwise_or_summed<PlainLeft>(mp::Divide{}, arguments, f);
    case BinaryOp::copy_lhs:
    case BinaryOp::copy_rhs:
      return with_copy<PlainLeft>(arguments, f);
  }
}

/// The same for gradients that only the winning edges receive: products, quotients and copies.
template <typename T, typename F>
void with_arg_index_message(const MessageArguments<T>& arguments, F&& f) {
  switch (arguments.op) {
    case BinaryOp::div:
      return with_elementwise_or_summed<ArgIndicesOnly>(mp::Divide{}, arguments, f);
    case BinaryOp::copy_lhs:
    case BinaryOp::copy_rhs:
      return with_copy<ArgIndicesOnly>(arguments, f);
    default:
      return with_elementwise_or_summed<ArgIndicesOnly>(mp::Multiply{}, arguments, f);
  }
}

}  // namespace bough
