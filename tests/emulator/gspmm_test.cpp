#include "kernels/cpu/gspmm.h"

#include <gtest/gtest.h>

#include "kernels/simt/gspmm.h"
#include "tests/emulator/engine/queue.h"
#include "tests/emulator/message_cases.h"
#include "tests/support/compare.h"

namespace bough {
namespace {

using emulator::Order;
using emulator::Queue;
using simt::DeviceRows;
using test::emulated_gsddmm;
using test::few_edges;
using test::MessageCase;
using test::Operands;
using test::operands;

struct Passed {
  Tensor result, arg_indices;
};

Passed emulated_gspmm(const Graph& graph, const MessageCase& c, ReduceOp reduce, Queue& queue,
                      bool keep_arg_indices = false) {
  const DeviceRows rows(graph.csc(), {}, Device::cpu(), few_edges);
  const Shape shape = mp::with_rows(graph.num_dst(), c.message.row);
  Passed passed{Tensor::empty(shape, c.first().tensor.dtype()), Tensor::empty(shape, DType::int32)};
  visit_floating("emulated", passed.result.dtype(), [&]<typename T>(TypeTag<T>) {
    simt::gspmm(
        queue, rows.rows(), rows.edges(), c.call<T>(), reduce,
        simt::GspmmResults<T>{.rows = passed.result.data<T>(),
                              .arg_indices = keep_arg_indices ? passed.arg_indices.data<std::int32_t>() : nullptr,
                              .empty = T{7}});
  });
  return passed;
}

TEST(EmulatedGspmm, MatchesTheReferenceOnEveryGraph) {
  for (const zoo::NamedGraph& named : zoo::all(100)) {
    SCOPED_TRACE(named.name);
    for (const ReduceOp reduce : test::all_reductions) {
      const Operands o = operands(named.graph, {{2, 5}, {2, 1}}, Target::source, Target::edge, DType::float64);
      Queue queue;
      const MessageCase c(named.graph, BinaryOp::mul, o.lhs, o.rhs);
      test::expect_close(emulated_gspmm(named.graph, c, reduce, queue).result,
                         reference::gspmm(named.graph, BinaryOp::mul, reduce, o.lhs, o.rhs, 7).tensor());
    }
  }
}

TEST(EmulatedGspmm, TakesEveryMessageShapeAndTarget) {
  const Graph graph = zoo::random_graph(9, 60, 1);
  for (const BinaryOp op : test::all_messages) {
    for (const test::ShapePair& shapes : test::shape_pairs(op)) {
      for (const DType dtype : {DType::float32, DType::float64}) {
        const Operands o = operands(graph, shapes, Target::source, Target::destination, dtype);
        const MessageCase c(graph, op, o.lhs, o.rhs);
        Queue queue;
        test::expect_close(emulated_gspmm(graph, c, ReduceOp::sum, queue).result,
                           reference::gspmm(graph, op, ReduceOp::sum, o.lhs, o.rhs, 7).tensor(), dtype);
        test::expect_close(emulated_gsddmm(graph, c, queue), reference::gsddmm(graph, op, o.lhs, o.rhs).tensor(),
                           dtype);
      }
    }
  }
}

TEST(EmulatedGspmm, SelectsTheFirstOfEqualMessages) {
  const Graph graph = zoo::split_row(100);
  for (const ReduceOp reduce : {ReduceOp::max, ReduceOp::min}) {
    Tensor values = test::random_indices({graph.num_edges(), 3}, 0, 4, DType::int64, 5);
    const Tensor x = Tensor::from_vector(values.to_vector<double>(), values.shape());
    const MessageCase c(graph, BinaryOp::copy_lhs, {x, Target::edge}, {});
    Queue queue;
    const Passed passed = emulated_gspmm(graph, c, reduce, queue, true);
    for (std::int64_t feature = 0; feature < 3; ++feature) {
      const double best = passed.result.data<double>()[feature];
      std::int64_t first = 0;
      while (x.data<double>()[first * 3 + feature] != best) ++first;
      EXPECT_EQ(passed.arg_indices.data<std::int32_t>()[feature], first);
      EXPECT_EQ(passed.arg_indices.data<std::int32_t>()[3 + feature], -1) << "a row without edges";
    }
  }
}

/// The gradients of operands are sums over edges, and over features that they lack.
TEST(EmulatedGspmm, AddsUpFeaturesThatShareAnElement) {
  const Graph graph = zoo::random_graph(9, 60, 1);
  const Shape common{2, 3, 4};
  for (const Shape& row : {Shape{3, 4}, Shape{2, 1, 4}, Shape{2, 3, 1}, Shape{1}, Shape{2, 1, 1}}) {
    SCOPED_TRACE(to_string(row));
    const Tensor lhs = test::random_tensor({graph.num_dst(), 2, 3, 4}, DType::float64, 1);
    const Tensor rhs = test::random_tensor({graph.num_src(), 3, 4}, DType::float64, 2);
    const Tensor arg_indices = test::random_indices(lhs.shape(), 0, graph.num_edges(), DType::int32, 3);
    const std::vector<Shape> shapes{common, Shape{3, 4}, row};
    const mp::FeatureLayout layout = mp::broadcast_layout(common, shapes);
    for (const std::int32_t* arg_indices_or_none :
         {static_cast<const std::int32_t*>(nullptr), arg_indices.data<std::int32_t>()}) {
      Tensor expected = Tensor::empty(mp::with_rows(graph.num_dst(), row), DType::float64),
             actual = empty_like(expected);
      const auto plan = mp::traversal_plan(graph, mp::Direction::by_destination);
      gspmm(Cpu{}, GspmmArguments<double>{.edges = mp::edges_by(graph, mp::Direction::by_destination),
                                          .plan = *plan,
                                          .message = {.op = BinaryOp::mul,
                                                      .lhs = {lhs.data<double>(), mp::End::row},
                                                      .rhs = {rhs.data<double>(), mp::End::neighbour},
                                                      .arg_indices = arg_indices_or_none,
                                                      .layout = &layout},
                                          .results = {.rows = expected.data<double>(), .width = row.elements()}});
      Queue queue;
      const DeviceRows rows(graph.csc(), {}, Device::cpu(), few_edges);
      simt::gspmm(queue, rows.rows(), rows.edges(),
                  simt::MessageCall<double>{.op = BinaryOp::mul,
                                            .lhs = lhs.data<double>(),
                                            .lhs_end = mp::End::row,
                                            .rhs = rhs.data<double>(),
                                            .rhs_end = mp::End::neighbour,
                                            .arg_indices = arg_indices_or_none,
                                            .layout = &layout},
                  ReduceOp::sum, simt::GspmmResults<double>{.rows = actual.data<double>()});
      test::expect_close(actual, expected);
    }
  }
}

TEST(EmulatedGspmm, DoesNotDependOnWhichThreadRunsFirst) {
  const Graph graph = zoo::split_row(100, true);
  const Operands o = operands(graph, {{40}, {40}}, Target::source, Target::edge, DType::float32);
  const MessageCase c(graph, BinaryOp::mul, o.lhs, o.rhs);
  Queue forwards(Order::ascending), backwards(Order::descending);
  test::expect_same_bits(emulated_gspmm(graph, c, ReduceOp::sum, forwards).result,
                         emulated_gspmm(graph, c, ReduceOp::sum, backwards).result);
}

TEST(EmulatedGspmm, ReadsASourceOnceAnEdge) {
  const Graph graph = zoo::causal_window(16, 15);  // node i has i + 1 edges
  const std::int64_t edges = graph.num_edges();
  for (const std::int64_t turns : {1, 2}) {
    const Tensor x = test::random_tensor({graph.num_src(), 32 * turns});
    const MessageCase c(graph, BinaryOp::copy_lhs, {x, Target::source}, {});
    Queue queue;
    emulated_gspmm(graph, c, ReduceOp::sum, queue);
    // For 32 features of an edge 4 sectors of the row, one of the neighbour, one of the layout's offset; one of each
    // item.
    EXPECT_EQ(queue.traffic().load_sectors, turns * edges * (4 + 1 + 1) + graph.num_dst());
    EXPECT_EQ(queue.traffic().store_sectors, turns * graph.num_dst() * 4);
  }
}

}  // namespace
}  // namespace bough
