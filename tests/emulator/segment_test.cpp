#include "kernels/cpu/segment.h"

#include <gtest/gtest.h>

#include "kernels/cpu/gspmm_prod_backward.h"
#include "kernels/simt/gspmm_prod_backward.h"
#include "kernels/simt/segment.h"
#include "kernels/views.h"
#include "tests/emulator/engine/queue.h"
#include "tests/support/compare.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using emulator::Queue;

TEST(EmulatedSegments, GetBackWhatTheReductionSays) {
  const Tensor offsets = Tensor::from_vector<std::int64_t>({0, 0, 3, 4, 40, 40, 41}, {7});
  const std::int64_t segments = 6, rows = 41, width = 3;
  const Tensor gradient = test::random_tensor({segments, width}, DType::float64, 1);
  const Tensor arg_indices = test::random_indices({segments, width}, 0, rows, DType::int32, 2);
  for (const bool mean : {false, true}) {
    for (const std::int32_t* winning : {static_cast<const std::int32_t*>(nullptr), arg_indices.data<std::int32_t>()}) {
      if (mean && winning != nullptr) continue;
      Tensor actual = Tensor::empty({rows, width}, DType::float64), expected = empty_like(actual);
      segment_reduce_backward(
          Cpu{},
          SegmentGradient<double>{
              {.offsets = offsets.data<std::int64_t>(), .rows = segments}, rows_of<double>(gradient), winning, mean},
          rows_of<double>(expected));
      Queue queue;
      simt::segment_reduce_backward(
          queue, simt::SegmentReduceBackward<double>{offsets.data<std::int64_t>(), segments, rows, width,
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
  prod_backward(Cpu{}, mp::edges_by(graph, mp::Direction::by_destination), *plan,
                rows_of<double>(std::as_const(messages)), rows_of<double>(gradient), rows_of<double>(expected));
  Queue queue;
  const CscView csc = graph.csc();
  simt::prod_backward(
      queue, simt::ProdBackward<double>{csc.offsets.data(), csc.edge_ids.data(), graph.num_dst(), 3,
                                        messages.data<double>(), gradient.data<double>(), actual.data<double>()});
  test::expect_same_bits(actual, expected);
}

}  // namespace
}  // namespace bough
