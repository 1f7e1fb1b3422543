#pragma once

#include "bough/detail/mp/adjacency.h"
#include "bough/detail/mp/traversal_plan.h"
#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {

/// The gradient of a product of messages by row: for each edge the gradient of its row times the product of the row's
/// other messages, made of those before and those after it, so that zeros need no care. float and double.
template <typename T>
void prod_backward(Cpu, const mp::Adjacency& edges, const mp::TraversalPlan& plan, Rows<const T> messages,
                   Rows<const T> gradient, Rows<T> message_gradient);

}  // namespace bough
