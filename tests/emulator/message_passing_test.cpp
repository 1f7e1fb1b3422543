#include "kernels/reference/message_passing.h"

#include <gtest/gtest.h>

#include "bough/detail/simt/device_rows.h"
#include "kernels/cpu/edge_softmax.h"
#include "kernels/cpu/gspmm.h"
#include "kernels/cpu/gspmm_product_gradient.h"
#include "kernels/cpu/segment.h"
#include "kernels/ops/message.h"
#include "kernels/simt/edge_softmax.h"
#include "kernels/simt/gsddmm.h"
#include "kernels/simt/gspmm.h"
#include "kernels/simt/rows.h"
#include "kernels/views.h"
#include "tests/emulator/engine/queue.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/compare.h"

namespace bough {
namespace {

using emulator::Order;
using emulator::Queue;
using simt::DeviceRows;

constexpr std::int64_t segment_edges = 24;

struct Passed {
  Tensor result, arg_indices;
};

/// Operands of a message by target, with their shapes lined up.
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

Tensor emulated_gsddmm(const Graph& graph, const MessageCase& c, Queue& queue) {
  Tensor result = Tensor::empty(mp::with_rows(graph.num_edges(), c.message.row), c.first().tensor.dtype());
  visit_floating("emulated", result.dtype(), [&]<typename T>(TypeTag<T>) {
    simt::gsddmm(queue, {graph.coo().src.data(), graph.coo().dst.data(), graph.num_edges()}, c.call<T>(),
                 result.data<T>());
  });
  return result;
}

Passed emulated_gspmm(const Graph& graph, const MessageCase& c, ReduceOp reduce, Queue& queue,
                      bool keep_arg_indices = false) {
  const DeviceRows rows(graph.csc(), {}, Device::cpu(), segment_edges);
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

struct Operands {
  reference::Operand lhs, rhs;
};

Operands operands(const Graph& graph, const test::ShapePair& shapes, Target lhs, Target rhs, DType dtype) {
  return {{test::features(graph, lhs, shapes.lhs, dtype, 1), lhs},
          {test::features(graph, rhs, shapes.rhs, dtype, 2), rhs}};
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

TEST(EmulatedGspmm, FindsTheFirstOfEqualWinners) {
  const Graph graph = zoo::hub(100);
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
    for (const std::int32_t* winners_or_none :
         {static_cast<const std::int32_t*>(nullptr), arg_indices.data<std::int32_t>()}) {
      Tensor expected = Tensor::empty(mp::with_rows(graph.num_dst(), row), DType::float64),
             actual = empty_like(expected);
      const auto plan = mp::traversal_plan(graph, mp::Direction::by_destination);
      gspmm(Cpu{}, GspmmArguments<double>{.edges = mp::edges_by(graph, mp::Direction::by_destination),
                                          .plan = *plan,
                                          .message = {.op = BinaryOp::mul,
                                                      .lhs = {lhs.data<double>(), mp::End::row},
                                                      .rhs = {rhs.data<double>(), mp::End::neighbour},
                                                      .arg_indices = winners_or_none,
                                                      .layout = &layout},
                                          .results = {.rows = expected.data<double>(), .width = row.elements()}});
      Queue queue;
      const DeviceRows rows(graph.csc(), {}, Device::cpu(), segment_edges);
      simt::gspmm(queue, rows.rows(), rows.edges(),
                  simt::MessageCall<double>{.op = BinaryOp::mul,
                                            .lhs = lhs.data<double>(),
                                            .lhs_end = mp::End::row,
                                            .rhs = rhs.data<double>(),
                                            .rhs_end = mp::End::neighbour,
                                            .arg_indices = winners_or_none,
                                            .layout = &layout},
                  ReduceOp::sum, simt::GspmmResults<double>{.rows = actual.data<double>()});
      test::expect_close(actual, expected);
    }
  }
}

TEST(EmulatedGspmm, DoesNotDependOnWhichThreadRunsFirst) {
  const Graph graph = zoo::hub(100, true);
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

/// Every node receives from every node, in the order of the destinations.
Graph complete(std::int32_t nodes) {
  std::vector<std::int32_t> src, dst;
  for (std::int32_t i = 0; i < nodes * nodes; ++i) {
    src.push_back(i % nodes);
    dst.push_back(i / nodes);
  }
  return Graph::from_edges(src, dst, {.num_nodes = nodes});
}

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

TEST(EmulatedEdgeSoftmax, ReadsEveryScoreTwiceAndWritesItsWeightOnce) {
  const std::int64_t nodes = 24, edges = nodes * nodes, width = 8;
  const Graph graph = complete(nodes);
  const Tensor scores = test::random_tensor({edges, width}), dy = test::random_tensor({edges, width});
  Tensor weights = empty_like(scores), gradient = empty_like(scores);
  const DeviceRows rows(graph.csc(), {}, Device::cpu(), segment_edges);
  Queue forward, backward;
  simt::softmax_rows(forward, rows.rows(), nodes, rows.edges().edge_ids, width,
                     simt::SoftmaxForward<float>{scores.data<float>(), weights.data<float>()});
  // An edge's scores are one sector; four edges share one of their ids. A row has one of its item in each pass, and
  // two of maxima and sums, which the first pass writes and the second reads.
  EXPECT_EQ(forward.traffic().load_sectors, 2 * (edges + edges / 4 + nodes) + 2 * nodes);
  EXPECT_EQ(forward.traffic().store_sectors, edges + 2 * nodes);
  simt::softmax_rows(backward, rows.rows(), nodes, rows.edges().edge_ids, width,
                     simt::SoftmaxBackward<float>{weights.data<float>(), dy.data<float>(), gradient.data<float>()});
  // Weights and gradients; a row has one sector of sums.
  EXPECT_EQ(backward.traffic().load_sectors, 2 * (2 * edges + edges / 4 + nodes) + nodes);
  EXPECT_EQ(backward.traffic().store_sectors, edges + nodes);
}

TEST(EmulatedEdgeSoftmax, MatchesTheReferenceForwardAndTheCpuBackward) {
  for (const zoo::NamedGraph& named : zoo::all(100)) {
    SCOPED_TRACE(named.name);
    const Graph& graph = named.graph;
    for (const std::int64_t width : {1, 3, 8, 40}) {
      const Tensor scores = test::random_tensor({graph.num_edges(), width}, DType::float64, 3);
      Tensor weights = empty_like(scores), gradient = empty_like(scores), expected = empty_like(scores);
      Queue queue;
      const DeviceRows rows(graph.csc(), {}, Device::cpu(), segment_edges);
      simt::softmax_rows(queue, rows.rows(), graph.num_dst(), rows.edges().edge_ids, width,
                         simt::SoftmaxForward<double>{scores.data<double>(), weights.data<double>()});
      const reference::Table table =
          reference::softmax_groups(scores, reference::ends(graph, Target::destination), graph.num_dst());
      test::expect_close(weights, table.tensor());
      const Tensor dy = test::random_tensor(scores.shape(), DType::float64, 4);
      simt::softmax_rows(
          queue, rows.rows(), graph.num_dst(), rows.edges().edge_ids, width,
          simt::SoftmaxBackward<double>{weights.data<double>(), dy.data<double>(), gradient.data<double>()});
      const auto plan = mp::traversal_plan(graph, mp::Direction::by_destination);
      edge_softmax_backward(Cpu{}, mp::edges_by(graph, mp::Direction::by_destination), *plan,
                            rows_of<double>(std::as_const(weights)), rows_of<double>(dy), rows_of<double>(expected));
      test::expect_close(gradient, expected);
    }
  }
}

TEST(EmulatedEdgeSoftmax, SurvivesScoresOfTenThousandAndMaskedRows) {
  const Graph graph = zoo::hub(50);
  for (const bool masked : {false, true}) {
    Tensor scores = test::random_uniform({graph.num_edges(), 2}, -1e4, 1e4);
    if (masked) scores.fill(-INFINITY);
    Tensor weights = empty_like(scores);
    Queue queue;
    const DeviceRows rows(graph.csc(), {}, Device::cpu(), segment_edges);
    simt::softmax_rows(queue, rows.rows(), graph.num_dst(), rows.edges().edge_ids, 2,
                       simt::SoftmaxForward<float>{scores.data<float>(), weights.data<float>()});
    test::expect_close(
        weights,
        reference::softmax_groups(scores, reference::ends(graph, Target::destination), graph.num_dst()).tensor());
  }
}

TEST(EmulatedSegments, GetBackWhatTheReductionSays) {
  const Tensor offsets = Tensor::from_vector<std::int64_t>({0, 0, 3, 4, 40, 40, 41}, {7});
  const std::int64_t segments = 6, rows = 41, width = 3;
  const Tensor gradient = test::random_tensor({segments, width}, DType::float64, 1);
  const Tensor arg_indices = test::random_indices({segments, width}, 0, rows, DType::int32, 2);
  for (const bool mean : {false, true}) {
    for (const std::int32_t* winning : {static_cast<const std::int32_t*>(nullptr), arg_indices.data<std::int32_t>()}) {
      if (mean && winning != nullptr) continue;
      Tensor actual = Tensor::empty({rows, width}, DType::float64), expected = empty_like(actual);
      spread_segments(
          Cpu{},
          SegmentGradient<double>{
              {.offsets = offsets.data<std::int64_t>(), .rows = segments}, rows_of<double>(gradient), winning, mean},
          rows_of<double>(expected));
      Queue queue;
      simt::spread_segments(
          queue, simt::SpreadSegments<double>{offsets.data<std::int64_t>(), segments, rows, width,
                                              gradient.data<double>(), winning, mean, actual.data<double>()});
      test::expect_same_bits(actual, expected);
    }
  }
}

TEST(EmulatedSegments, ShareTheGradientOfAProductEvenWithZeros) {
  const Graph graph = zoo::random_graph(9, 60, 1);
  Tensor messages = test::random_tensor({graph.num_edges(), 3}, DType::float64, 1);
  for (std::int64_t i = 0; i < messages.elements(); i += 7) messages.data<double>()[i] = 0;
  const Tensor gradient = test::random_tensor({graph.num_dst(), 3}, DType::float64, 2);
  Tensor actual = empty_like(messages), expected = empty_like(messages);
  const auto plan = mp::traversal_plan(graph, mp::Direction::by_destination);
  product_gradient(Cpu{}, mp::edges_by(graph, mp::Direction::by_destination), *plan,
                   rows_of<double>(std::as_const(messages)), rows_of<double>(gradient), rows_of<double>(expected));
  Queue queue;
  const CscView csc = graph.csc();
  simt::product_gradient(
      queue, simt::ProductGradient<double>{csc.offsets.data(), csc.edge_ids.data(), graph.num_dst(), 3,
                                           messages.data<double>(), gradient.data<double>(), actual.data<double>()});
  test::expect_same_bits(actual, expected);
}

}  // namespace
}  // namespace bough
