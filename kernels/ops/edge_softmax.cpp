#include "bough/ops/edge_softmax.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "bough/detail/simt/device_rows.h"
#include "kernels/cpu/edge_softmax.h"
#include "kernels/cuda/edge_softmax.h"
#include "kernels/on_device.h"
#include "kernels/views.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

template <typename T>
void normalize(Cpu cpu, const Graph& graph, mp::Direction direction, Rows<const T> scores, Rows<T> weights) {
  edge_softmax(cpu, mp::edges_by(graph, direction), *mp::traversal_plan(graph, direction), scores, weights);
}
template <typename T>
void normalize(Cuda gpu, const Graph& graph, mp::Direction direction, Rows<const T> scores, Rows<T> weights) {
  const auto rows = simt::device_rows(graph, direction, Device::cuda(gpu.device));
  edge_softmax(gpu, rows->rows(), rows->num_rows(), rows->edges().edge_ids, scores.width,
               simt::SoftmaxForward<T>{scores.data, weights.data});
}

template <typename T>
void score_gradient(Cpu cpu, const Graph& graph, mp::Direction direction, Rows<const T> weights, Rows<const T> gradient,
                    Rows<T> result) {
  edge_softmax_backward(cpu, mp::edges_by(graph, direction), *mp::traversal_plan(graph, direction), weights, gradient,
                        result);
}
template <typename T>
void score_gradient(Cuda gpu, const Graph& graph, mp::Direction direction, Rows<const T> weights,
                    Rows<const T> gradient, Rows<T> result) {
  const auto rows = simt::device_rows(graph, direction, Device::cuda(gpu.device));
  edge_softmax_backward(gpu, rows->rows(), rows->num_rows(), rows->edges().edge_ids, weights.width,
                        simt::SoftmaxBackward<T>{weights.data, gradient.data, result.data});
}

}  // namespace

Tensor edge_softmax(const Graph& graph, const Tensor& scores, const EdgeSoftmaxOptions& options) {
  throw_if_missing(scores);
  if (!scores.defined()) throw ShapeError("edge_softmax", "scores is undefined; it was never given a value");
  if (scores.rank() == 0 || scores.size(0) != graph.num_edges()) {
    throw ShapeError("edge_softmax", fmt::format("scores {} must have one row for each edge, the graph has {}",
                                                 to_string(scores.shape()), graph.num_edges()));
  }
  if (options.by == Target::edge) {
    throw ConfigError("edge_softmax", "normalises by destination or by source; by edge every entry would be 1");
  }
  const auto direction = options.by == Target::source ? mp::Direction::by_source : mp::Direction::by_destination;

  Tensor weights = empty_like(scores);
  on_any_device("edge_softmax", scores, [&]<typename T>(auto backend, TypeTag<T>) {
    normalize(backend, graph, direction, rows_of<T>(scores), rows_of<T>(weights));
  });

  // y = exp(x) / sum exp(x):  dx = y (dy - sum y dy)
  return autograd::record({.name = "edge_softmax",
                           .inputs = {scores},
                           .saved = {weights},
                           .backward = [graph, direction](const BackwardCall& call) -> Gradients {
                             const Tensor& y = call.saved(0);
                             Tensor dx = empty_like(y);
                             on_any_device("edge_softmax", y, [&]<typename T>(auto backend, TypeTag<T>) {
                               score_gradient(backend, graph, direction, rows_of<T>(y), rows_of<T>(call.gradient()),
                                              rows_of<T>(dx));
                             });
                             return {dx};
                           }},
                          weights);
}

}  // namespace bough
