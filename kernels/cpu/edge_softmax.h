#pragma once

#include "bough/detail/mp/adjacency.h"
#include "bough/detail/mp/traversal_plan.h"
#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {

/// Softmax over the edges of each row, column by column. float and double.
template <typename T>
void edge_softmax(Cpu, const mp::Adjacency& edges, const mp::TraversalPlan& plan, Rows<const T> scores,
                  Rows<T> weights);

/// score_gradient = weights * (gradient - the row's sum of weights * gradient).
template <typename T>
void edge_softmax_backward(Cpu, const mp::Adjacency& edges, const mp::TraversalPlan& plan, Rows<const T> weights,
                           Rows<const T> gradient, Rows<T> score_gradient);

}  // namespace bough
