#include "kernels/simt/gsddmm.h"

#include <gtest/gtest.h>

#include "tests/emulator/engine/queue.h"
#include "tests/emulator/message_cases.h"
#include "tests/support/compare.h"

namespace bough {
namespace {

using emulator::Queue;
using test::complete;
using test::emulated_gsddmm;
using test::MessageCase;
using test::Operands;
using test::operands;

TEST(EmulatedGsddmm, ReadsBothRowsOnceAnEdgeAndWritesOne) {
  const Graph graph = complete(9);
  const std::int64_t edges = graph.num_edges();
  const Operands o = operands(graph, {{32}, {32}}, Target::source, Target::destination, DType::float32);
  Queue queue;
  emulated_gsddmm(graph, MessageCase(graph, BinaryOp::add, o.lhs, o.rhs), queue);
  // 4 sectors of each row; one of each end, and one of each operand's offsets.
  EXPECT_EQ(queue.traffic().load_sectors, edges * (4 + 4 + 2 + 2));
  EXPECT_EQ(queue.traffic().store_sectors, edges * 4);
}

TEST(EmulatedGsddmm, ReadsBothRowsOnceAnEdgeForDotProducts) {
  const Graph graph = complete(9);
  const std::int64_t edges = graph.num_edges();
  const Operands o = operands(graph, {{64}, {64}}, Target::source, Target::destination, DType::float32);
  Queue queue;
  emulated_gsddmm(graph, MessageCase(graph, BinaryOp::dot, o.lhs, o.rhs), queue);
  // 8 sectors of each row, in two turns that look up the operands' offsets; one of each end.
  EXPECT_EQ(queue.traffic().load_sectors, edges * (8 + 8 + 2 * 2 + 2));
  EXPECT_EQ(queue.traffic().store_sectors, edges);
}

}  // namespace
}  // namespace bough
