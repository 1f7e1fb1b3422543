#pragma once

#include <span>

#include "kernels/cpu/message_dispatch.h"
#include "kernels/on_device.h"
#include "kernels/plan/edge_work_items.h"

namespace bough {

template <typename T>
struct GsddmmArguments {
  mp::EdgeList edges;
  MessageArguments<T> message;
  T* results = nullptr;  ///< one row for each edge
  /// Positions of the edge list in the order to visit them, if there is a better one than ascending.
  std::span<const mp::EdgeWorkItem> items = {};
};

/// The message of every edge. Features that share an element of the result add up in it. float and double.
template <typename T>
void gsddmm(Cpu, const GsddmmArguments<T>& arguments);

/// The same where a message is a product of two rows summed over the inner axis, and every outer feature has an element
/// of the result to itself.
template <typename T>
void gsddmm_dot(const GsddmmArguments<T>& arguments);

}  // namespace bough
