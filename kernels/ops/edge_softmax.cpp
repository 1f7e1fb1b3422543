#include "bough/ops/edge_softmax.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "kernels/cpu/edge_softmax.h"
#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {
Tensor edge_softmax(const Graph& graph, const Tensor& scores, const EdgeSoftmaxOptions& options) {
  if (scores.rank() == 0 || scores.size(0) != graph.num_edges()) {
    throw ShapeError("edge_softmax", fmt::format("scores {} must have one row for each edge, the graph has {}",
                                                 to_string(scores.shape()), graph.num_edges()));
  }
  if (options.by == Target::edge) {
    throw ConfigError("edge_softmax", "normalises by destination or by source; by edge every entry would be 1");
  }
  const auto direction = options.by == Target::source ? mp::Direction::by_source : mp::Direction::by_destination;

  Tensor weights = empty_like(scores);
  on_device("edge_softmax", scores, [&]<typename T>(auto backend, TypeTag<T>) {
    edge_softmax(backend, mp::edges_by(graph, direction), *mp::traversal_plan(graph, direction), rows_of<T>(scores),
                 rows_of<T>(weights));
  });

  // y = exp(x) / sum exp(x):  dx = y (dy - sum y dy)
  return record({.name = "edge_softmax",
                 .inputs = {scores},
                 .saved = {weights},
                 .backward = [graph, direction](const BackwardCall& call) -> Gradients {
                   const Tensor& y = call.saved(0);
                   Tensor dx = empty_like(y);
                   on_device("edge_softmax", y, [&]<typename T>(auto backend, TypeTag<T>) {
                     edge_softmax_backward(backend, mp::edges_by(graph, direction),
                                           *mp::traversal_plan(graph, direction), rows_of<T>(y),
                                           rows_of<T>(call.gradient()), rows_of<T>(dx));
                   });
                   return {dx};
                 }},
                weights);
}

}  // namespace bough
