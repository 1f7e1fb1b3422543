#pragma once

#include <string>
#include <utility>

#include "bough/mp/operators.h"

/// Messages and reductions by name, for Frame: fn::u_mul_e("v", "a", "m") is the product of feature "v" of the source
/// and "a" of the edge as message "m", and fn::sum("m", "out") adds the messages "m" up into feature "out" of the
/// receiving node. u is the source, v the destination, e the edge. A built-in message and a built-in reduction run as
/// one fused operation, without storing messages.
namespace bough::fn {

/// A built-in message: one operation on one or two features.
struct Message {
  BinaryOp op = BinaryOp::copy_lhs;    ///< copy_lhs or an operation on both
  Target lhs_target = Target::source;  ///< whose feature the left operand is
  std::string lhs;                     ///< name of the left operand
  Target rhs_target = Target::edge;    ///< whose feature the right operand is
  std::string rhs;                     ///< empty for copies
  std::string out;                     ///< name of the message
};

/// A built-in reduction of messages at the receiving node.
struct Reduce {
  ReduceOp op = ReduceOp::sum;  ///< how messages become one value
  std::string message;          ///< name of the message
  std::string out;              ///< name of the receiving node's feature
};

/// Makes the Message of an operation on two features: (left, right, message).
template <BinaryOp op, Target lhs_target, Target rhs_target>
struct BinaryMessage {
  /// The message.
  Message operator()(std::string lhs, std::string rhs, std::string out) const {
    return {op, lhs_target, std::move(lhs), rhs_target, std::move(rhs), std::move(out)};
  }
};

/// Makes the Message that hands on a feature: (feature, message).
template <Target target>
struct CopyMessage {
  /// The message.
  Message operator()(std::string field, std::string out) const {
    return {BinaryOp::copy_lhs, target, std::move(field), Target::edge, {}, std::move(out)};
  }
};

/// Makes a Reduce: (message, feature of the receiving node).
template <ReduceOp op>
struct NamedReduce {
  /// The reduction.
  Reduce operator()(std::string message, std::string out) const { return {op, std::move(message), std::move(out)}; }
};

/// A feature of the source, of the destination, of the edge as it is.
inline constexpr CopyMessage<Target::source> copy_u{};
inline constexpr CopyMessage<Target::destination> copy_v{};
inline constexpr CopyMessage<Target::edge> copy_e{};

/// Sums, element by element, with broadcasting.
inline constexpr BinaryMessage<BinaryOp::add, Target::source, Target::destination> u_add_v{};
inline constexpr BinaryMessage<BinaryOp::add, Target::source, Target::edge> u_add_e{};
inline constexpr BinaryMessage<BinaryOp::add, Target::destination, Target::source> v_add_u{};
inline constexpr BinaryMessage<BinaryOp::add, Target::destination, Target::edge> v_add_e{};
inline constexpr BinaryMessage<BinaryOp::add, Target::edge, Target::source> e_add_u{};
inline constexpr BinaryMessage<BinaryOp::add, Target::edge, Target::destination> e_add_v{};

/// Differences.
inline constexpr BinaryMessage<BinaryOp::sub, Target::source, Target::destination> u_sub_v{};
inline constexpr BinaryMessage<BinaryOp::sub, Target::source, Target::edge> u_sub_e{};
inline constexpr BinaryMessage<BinaryOp::sub, Target::destination, Target::source> v_sub_u{};
inline constexpr BinaryMessage<BinaryOp::sub, Target::destination, Target::edge> v_sub_e{};
inline constexpr BinaryMessage<BinaryOp::sub, Target::edge, Target::source> e_sub_u{};
inline constexpr BinaryMessage<BinaryOp::sub, Target::edge, Target::destination> e_sub_v{};

/// Products.
inline constexpr BinaryMessage<BinaryOp::mul, Target::source, Target::destination> u_mul_v{};
inline constexpr BinaryMessage<BinaryOp::mul, Target::source, Target::edge> u_mul_e{};
inline constexpr BinaryMessage<BinaryOp::mul, Target::destination, Target::source> v_mul_u{};
inline constexpr BinaryMessage<BinaryOp::mul, Target::destination, Target::edge> v_mul_e{};
inline constexpr BinaryMessage<BinaryOp::mul, Target::edge, Target::source> e_mul_u{};
inline constexpr BinaryMessage<BinaryOp::mul, Target::edge, Target::destination> e_mul_v{};

/// Quotients.
inline constexpr BinaryMessage<BinaryOp::div, Target::source, Target::destination> u_div_v{};
inline constexpr BinaryMessage<BinaryOp::div, Target::source, Target::edge> u_div_e{};
inline constexpr BinaryMessage<BinaryOp::div, Target::destination, Target::source> v_div_u{};
inline constexpr BinaryMessage<BinaryOp::div, Target::destination, Target::edge> v_div_e{};
inline constexpr BinaryMessage<BinaryOp::div, Target::edge, Target::source> e_div_u{};
inline constexpr BinaryMessage<BinaryOp::div, Target::edge, Target::destination> e_div_v{};

/// Dot products over the last axis.
inline constexpr BinaryMessage<BinaryOp::dot, Target::source, Target::destination> u_dot_v{};
inline constexpr BinaryMessage<BinaryOp::dot, Target::source, Target::edge> u_dot_e{};
inline constexpr BinaryMessage<BinaryOp::dot, Target::destination, Target::source> v_dot_u{};
inline constexpr BinaryMessage<BinaryOp::dot, Target::destination, Target::edge> v_dot_e{};
inline constexpr BinaryMessage<BinaryOp::dot, Target::edge, Target::source> e_dot_u{};
inline constexpr BinaryMessage<BinaryOp::dot, Target::edge, Target::destination> e_dot_v{};

/// What a node without messages gets is 0.
inline constexpr NamedReduce<ReduceOp::sum> sum{};
inline constexpr NamedReduce<ReduceOp::mean> mean{};
inline constexpr NamedReduce<ReduceOp::max> max{};
inline constexpr NamedReduce<ReduceOp::min> min{};
inline constexpr NamedReduce<ReduceOp::prod> prod{};

}  // namespace bough::fn
