#pragma once

#include "bough/detail/mp/row_reduction.h"
#include "bough/detail/mp/traversal_plan.h"
#include "kernels/cpu/message_dispatch.h"
#include "kernels/on_device.h"
#include "kernels/plan/shared_rows.h"

namespace bough {

template <typename T>
struct GspmmArguments {
  mp::Adjacency edges;
  const mp::TraversalPlan& plan;
  Strategy strategy = Strategy::automatic;
  MessageArguments<T> message;
  ReduceOp reduce = ReduceOp::sum;
  mp::RowResults<T> results;               ///< arg_indices may be asked of max and min
  const mp::SharedRows* shared = nullptr;  ///< if given, the messages are copies of a neighbour's row
};

/// Whether whole rows of a neighbour or an edge, wide enough to fill vectors, are reduced by sum, mean, max or min
/// without arg_indices: what reduce_copies does.
template <typename T>
bool reduces_copies(ReduceOp reduce, const MessageArguments<T>& message, const mp::RowResults<T>& results) {
  const bool copies = message.op == BinaryOp::copy_lhs || message.op == BinaryOp::copy_rhs;
  const bool combines =
      reduce == ReduceOp::sum || reduce == ReduceOp::mean || reduce == ReduceOp::max || reduce == ReduceOp::min;
  return copies && combines && results.arg_indices == nullptr && message.arg_indices == nullptr &&
         message.lhs.end != mp::End::row && message.layout->outer == 1 && message.result().step == 1 &&
         message.layout->inner * static_cast<std::int64_t>(sizeof(T)) >= 64;
}

/// Messages reduced by row. float and double.
template <typename T>
void gspmm(Cpu, const GspmmArguments<T>& arguments);

/// By reduction, each compiled in a file of its own.
template <typename T>
void reduce_sum(const GspmmArguments<T>& arguments);
template <typename T>
void reduce_extremes(const GspmmArguments<T>& arguments);
template <typename T>
void reduce_prod(const GspmmArguments<T>& arguments);
/// Of copies of rows, see reduces_copies.
template <typename T>
void reduce_copies(const GspmmArguments<T>& arguments);
/// The sum of gradients that only arg_indices receive.
template <typename T>
void reduce_arg_indices(const GspmmArguments<T>& arguments);

/// The traversal for one message and one reduction.
template <bool KeepArg, typename T, typename Kernel, typename Reduce>
void reduce_rows(const GspmmArguments<T>& arguments, const Kernel& kernel, const Reduce& reduce) {
  const mp::TraversalSchedule schedule = mp::make_traversal_schedule(arguments.plan, *arguments.message.layout,
                                                                     arguments.message.result(), arguments.strategy);
  mp::RowReduction<KeepArg, T, Kernel, Reduce>(arguments.edges, kernel, reduce, arguments.results)
      .run(arguments.plan, schedule);
}

template <typename T, typename Reduce>
void reduce_with(const GspmmArguments<T>& arguments, const Reduce& reduce) {
  with_message(arguments.message, [&](const auto& kernel) {
    if constexpr (mp::Selects<Reduce>) {
      if (arguments.results.arg_indices != nullptr) return reduce_rows<true>(arguments, kernel, reduce);
    }
    reduce_rows<false>(arguments, kernel, reduce);
  });
}

}  // namespace bough
