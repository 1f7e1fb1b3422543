#pragma once

#include "bough/detail/simt/device_rows.h"
#include "kernels/ops/message.h"
#include "kernels/reference/message_passing.h"
#include "kernels/simt/gsddmm.h"
#include "tests/emulator/engine/queue.h"
#include "tests/kernels/message_passing_cases.h"

/// What the tests of message passing on the emulator share.
namespace bough::test {

/// Edges of a split, few enough for several splits of the split rows of the graph zoo.
inline constexpr std::int64_t few_edges = 24;

/// Operands of a message by target, with their broadcast layout.
struct MessageCase {
  MessageCase(const Graph& graph, BinaryOp op, const reference::Operand& lhs, const reference::Operand& rhs)
      : message(checked_message("emulated", graph, op, {lhs.tensor, lhs.target}, {rhs.tensor, rhs.target})) {
    std::vector<Shape> shapes{mp::row_shape(first().tensor.shape())};
    if (both()) shapes.push_back(message.rhs_row);
    shapes.push_back(message.row);
    layout = mp::broadcast_layout(message.common, shapes);
  }

  bool both() const { return message.lhs.tensor.defined() && message.rhs.tensor.defined(); }
  const Side& first() const { return message.op == BinaryOp::copy_rhs ? message.rhs : message.lhs; }

  template <typename T>
  simt::MessageCall<T> call() const {
    const auto end = [](const Side& side) { return mp::end_of(side.target, mp::Direction::by_destination); };
    return {.op = message.op == BinaryOp::copy_rhs ? BinaryOp::copy_lhs : message.op,
            .lhs = first().tensor.data<T>(),
            .lhs_end = end(first()),
            .rhs = both() ? message.rhs.tensor.data<T>() : nullptr,
            .rhs_end = end(message.rhs),
            .layout = &layout};
  }

  Message message;
  mp::FeatureLayout layout;
};

inline Tensor emulated_gsddmm(const Graph& graph, const MessageCase& c, emulator::Queue& queue) {
  Tensor result = Tensor::empty(mp::with_rows(graph.num_edges(), c.message.row), c.first().tensor.dtype());
  visit_floating("emulated", result.dtype(), [&]<typename T>(TypeTag<T>) {
    simt::gsddmm(queue, {graph.coo().src.data(), graph.coo().dst.data(), graph.num_edges()}, c.call<T>(),
                 result.data<T>());
  });
  return result;
}

struct Operands {
  reference::Operand lhs, rhs;
};

inline Operands operands(const Graph& graph, const ShapePair& shapes, Target lhs, Target rhs, DType dtype) {
  return {{features(graph, lhs, shapes.lhs, dtype, 1), lhs}, {features(graph, rhs, shapes.rhs, dtype, 2), rhs}};
}

/// Every node receives from every node, in the order of the destinations.
inline Graph complete(std::int32_t nodes) {
  std::vector<std::int32_t> src, dst;
  for (std::int32_t i = 0; i < nodes * nodes; ++i) {
    src.push_back(i % nodes);
    dst.push_back(i / nodes);
  }
  return Graph::from_edges(src, dst, {.num_nodes = nodes});
}

}  // namespace bough::test
