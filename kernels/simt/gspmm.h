#pragma once

#include "bough/detail/simt/reduce_messages.h"
#include "kernels/simt/message.h"

/// Messages of built-in operators reduced by row.
namespace bough::simt {

template <typename T>
using GspmmResults = ReducedRows<T>;

/// Writes every row. Also segment_reduce, and sums of rows by a sorted index: neither has neighbours.
template <typename Queue, typename T>
void gspmm(Queue& queue, const RowItemView& rows, const EdgeView& edges, const MessageCall<T>& call, ReduceOp reduce,
           const GspmmResults<T>& results) {
  const UploadedMessage<Queue, T> message(queue, call);
  const auto run = [&]<bool KeepArg, typename Reduce>(const Reduce& operation) {
    reduce_messages<KeepArg>(queue, {"gspmm", "gspmm_merge"}, rows, edges, message.view(), operation, results);
  };
  const auto selected = [&](const auto& operation) {
    if (results.arg_indices != nullptr) return run.template operator()<true>(operation);
    run.template operator()<false>(operation);
  };
  switch (reduce) {
    case ReduceOp::sum:
      return run.template operator()<false>(mp::Sum{});
    case ReduceOp::mean:
      return run.template operator()<false>(mp::Mean{});
    case ReduceOp::max:
      return selected(mp::Max{});
    case ReduceOp::min:
      return selected(mp::Min{});
    case ReduceOp::prod:
      return run.template operator()<false>(mp::Product{});
  }
}

}  // namespace bough::simt
