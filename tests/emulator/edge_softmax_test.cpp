#include "kernels/cpu/edge_softmax.h"

#include <gtest/gtest.h>

#include "kernels/simt/edge_softmax.h"
#include "kernels/views.h"
#include "tests/emulator/engine/queue.h"
#include "tests/emulator/message_cases.h"
#include "tests/support/compare.h"

namespace bough {
namespace {

using emulator::Queue;
using simt::DeviceRows;
using test::complete;
using test::few_edges;

TEST(EmulatedEdgeSoftmax, ReadsEveryScoreTwiceAndWritesItsWeightOnce) {
  const std::int64_t nodes = 24, edges = nodes * nodes, width = 8;
  const Graph graph = complete(nodes);
  const Tensor scores = test::random_tensor({edges, width}), dy = test::random_tensor({edges, width});
  Tensor weights = empty_like(scores), gradient = empty_like(scores);
  const DeviceRows rows(graph.csc(), {}, Device::cpu(), few_edges);
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
      const DeviceRows rows(graph.csc(), {}, Device::cpu(), few_edges);
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
  const Graph graph = zoo::split_row(50);
  for (const bool masked : {false, true}) {
    Tensor scores = test::random_uniform({graph.num_edges(), 2}, -1e4, 1e4);
    if (masked) scores.fill(-INFINITY);
    Tensor weights = empty_like(scores);
    Queue queue;
    const DeviceRows rows(graph.csc(), {}, Device::cpu(), few_edges);
    simt::softmax_rows(queue, rows.rows(), graph.num_dst(), rows.edges().edge_ids, 2,
                       simt::SoftmaxForward<float>{scores.data<float>(), weights.data<float>()});
    test::expect_close(
        weights,
        reference::softmax_groups(scores, reference::ends(graph, Target::destination), graph.num_dst()).tensor());
  }
}

}  // namespace
}  // namespace bough
