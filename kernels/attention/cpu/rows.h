#pragma once

#include <span>

#include "bough/graph/graph.h"
#include "kernels/attention/plan/row_schedule.h"
#include "kernels/attention/views.h"
#include "kernels/on_device.h"

/// Graph attention one row at a time, all heads together: for any graph and all options.
namespace bough {

/// Edges grouped by one end, the relation of each edge by its id, and how to walk over the rows.
struct AttentionEdges {
  CompressedView view;
  std::span<const std::int32_t> types;
  const RowSchedule* schedule = nullptr;
};

/// The loops over edges, as compiled for one instruction set. Splits of split rows leave their state in `partials`.
template <typename T>
struct RowFunctions {
  void (*attend_items)(const AttentionEdges&, const AttentionInputs<T>&, std::int64_t first, std::int64_t last,
                       T* partials, const AttentionOutputs<T>&);
  void (*merge_partials)(const AttentionInputs<T>&, const SplitAttentionRow&, T* partials, const AttentionOutputs<T>&);
  void (*delta_rows)(std::int64_t first, std::int64_t last, const AttentionInputs<T>&, HeadRows<const T> out,
                     HeadRows<const T> d_out, HeadRows<T> delta);
  void (*weigh_items)(const AttentionEdges&, const AttentionInputs<T>&, std::int64_t first, std::int64_t last,
                      HeadRows<const T> lse, HeadRows<T> weights);
};
template <typename T>
struct RowBackwardFunctions {
  /// Gradients of tables go to `tables`, which is one task's own.
  void (*to_destinations)(const AttentionEdges&, const AttentionInputs<T>&, std::int64_t first, std::int64_t last,
                          T* partials, const AttentionGradients<T>&, const RelationTables<T>& tables);
  void (*to_sources)(const AttentionEdges&, const AttentionInputs<T>&, std::int64_t first, std::int64_t last,
                     T* partials, const AttentionGradients<T>&, bool accumulate);
};

/// Writes the rows of the schedule. The view is grouped by destination.
template <typename T>
void attend_rows(Cpu, const AttentionEdges& by_destination, const AttentionInputs<T>& in,
                 const AttentionOutputs<T>& result);

/// delta[i] = sum of out[i] * d_out[i] for each of these destinations and each head.
template <typename T>
void attention_delta(Cpu, const RowSchedule& rows, const AttentionInputs<T>& in, HeadRows<const T> out,
                     HeadRows<const T> d_out, HeadRows<T> delta);

/// Gradients of q, the tables and the edge tensors. Rows of q in the schedule are written, edge gradients of its edges
/// too; gradients of tables are added to what is there.
template <typename T>
void attend_rows_backward_to_destinations(Cpu, const AttentionEdges& by_destination, const AttentionInputs<T>& in,
                                          const AttentionGradients<T>& gradients);

/// Gradients of k and v: added to what is there, or written if `accumulate` is false. The view is grouped by source.
template <typename T>
void attend_rows_backward_to_sources(Cpu, const AttentionEdges& by_source, const AttentionInputs<T>& in,
                                     const AttentionGradients<T>& gradients, bool accumulate);

/// Weights of all edges: rows are edge ids.
template <typename T>
void attention_weights(Cpu, const AttentionEdges& by_destination, const AttentionInputs<T>& in, HeadRows<const T> lse,
                       HeadRows<T> weights);

}  // namespace bough
