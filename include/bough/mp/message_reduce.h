#pragma once

#include <utility>

#include "bough/core/tensor.h"
#include "bough/detail/mp/message_reduction.h"
#include "bough/graph/graph.h"
#include "bough/mp/functors.h"
#include "bough/mp/operators.h"

namespace bough {

/// Tensors that a message reads; those that are defined are passed to it in this order.
struct MessageOperands {
  Tensor source = {};       ///< [num_src, ...]
  Tensor destination = {};  ///< [num_dst, ...]
  Tensor edge = {};         ///< [num_edges, ...]
};

/// Message passing with functors of the user's own, compiled into the same loops as gspmm and as fast.
///
/// Message: `T operator()(T source, T destination, T edge) const` for one feature, with as many arguments as operands
/// are given, for T = float, double or both (a template). Plain arithmetic and ?: become vector instructions where the
/// caller is compiled with -O3. Feature shapes broadcast as in gsddmm; the result is [num_dst, C...].
/// A message that depends on the type of its edge takes a `mp::Edge` before the values, here and in gradient:
/// `T operator()(mp::Edge edge, T source) const` reads edge.type. GraphError for a graph with edges but without types.
/// Reduce: mp::Sum, mp::Mean, mp::Max, mp::Min, mp::Product, or a class with `static T identity<T>()` and
/// `T operator()(T so_far, T message) const`, associative up to rounding, and if it has a last step
/// `bool has_finish() const` and `T finish(T value, std::int64_t messages) const`.
///
/// Gradient, only asked for if an operand requires one (else AutogradError): Message has
/// `std::array<T, N> gradient(values...) const`, the derivatives with respect to each of its N arguments; test it with
/// gradcheck(). Sum, Mean, Max and Min need nothing more; another reduction has `T derivative(T message, T result)
/// const`. Bitwise equal for any number of threads and every strategy.
/// Operands are on the CPU, else DeviceError; bough/cuda/message_reduce.h has the same for a file that nvcc compiles.
///
///     struct Distance {
///       template <typename T> T operator()(T u, T v) const { return (u - v) * (u - v); }
///       template <typename T> std::array<T, 2> gradient(T u, T v) const { return {2 * (u - v), 2 * (v - u)}; }
///     };
///     Tensor out = message_reduce<Distance, mp::Sum>(graph, {.source = x, .destination = x});
template <typename Message, typename Reduce = mp::Sum>
Tensor message_reduce(const Graph& graph, const MessageOperands& operands, const MessageReduceOptions& options = {},
                      const Message& message = {}, const Reduce& reduce = {}) {
  mp::PassOperands checked("message_reduce", graph, operands.source, operands.destination, operands.edge);
  checked.require_cpu("message_reduce");
  return mp::reduced_messages<mp::HostLoops>(graph, std::move(checked), options, message, reduce);
}

}  // namespace bough
