#pragma once

#include "bough/detail/simt/device_rows.h"
#include "kernels/cpu/gsddmm.h"
#include "kernels/cpu/gspmm.h"
#include "kernels/cuda/gsddmm.h"
#include "kernels/cuda/gspmm.h"
#include "kernels/ops/message.h"

/// The two traversals of a graph on each backend: operations hand over views into the backend's memory and see no more
/// of it.
namespace bough {

/// Features of a row below which reading the plan of shared rows costs more than the additions it spares.
inline constexpr std::int64_t least_shared_width = 32;

/// Messages reduced by row.
template <typename T>
struct MessageReduction {
  mp::Direction direction = mp::Direction::by_destination;
  MessageArguments<T> message;
  ReduceOp reduce = ReduceOp::sum;
  mp::RowResults<T> results;
  Strategy strategy = Strategy::automatic;  ///< of the CPU
};

template <typename T>
void reduce_messages(Cpu cpu, const Graph& graph, const MessageReduction<T>& reduction) {
  const auto plan = mp::traversal_plan(graph, reduction.direction);
  const MessageArguments<T>& message = reduction.message;
  const bool copies_neighbours =
      reduces_copies(reduction.reduce, message, reduction.results) && message.lhs.end == mp::End::neighbour;
  const auto shared = copies_neighbours && message.layout->inner >= least_shared_width
                          ? mp::shared_rows(graph, reduction.direction)
                          : nullptr;
  gspmm(cpu, GspmmArguments<T>{.edges = mp::edges_by(graph, reduction.direction),
                               .plan = *plan,
                               .strategy = reduction.strategy,
                               .message = message,
                               .reduce = reduction.reduce,
                               .results = reduction.results,
                               .shared = shared.get()});
}

template <typename T>
simt::MessageCall<T> message_call(const MessageArguments<T>& message) {
  return {.op = message.op,
          .lhs = message.lhs.rows,
          .lhs_end = message.lhs.end,
          .rhs = message.rhs.rows,
          .rhs_end = message.rhs.end,
          .arg_indices = message.arg_indices,
          .layout = message.layout};
}

template <typename T>
void reduce_messages(Cuda gpu, const Graph& graph, const MessageReduction<T>& reduction) {
  const auto rows = simt::device_rows(graph, reduction.direction, Device::cuda(gpu.device));
  gspmm(gpu, rows->rows(), rows->edges(), message_call(reduction.message), reduction.reduce,
        simt::GspmmResults<T>{.rows = reduction.results.rows,
                              .arg_indices = reduction.results.arg_indices,
                              .empty = reduction.results.empty});
}

/// The message of every edge, into a row of its own. Ends of operands are those of a traversal by destination.
template <typename T>
void map_messages(Cpu cpu, const Graph& graph, bool reads_destinations, const MessageArguments<T>& message,
                  T* results) {
  const auto items = reads_destinations ? mp::edge_work_items(graph) : nullptr;
  gsddmm(cpu,
         GsddmmArguments<T>{.edges = mp::edge_list(graph, reads_destinations),
                            .message = message,
                            .results = results,
                            .items = items == nullptr ? std::span<const mp::EdgeWorkItem>{} : std::span(items->items)});
}
template <typename T>
void map_messages(Cuda gpu, const Graph& graph, bool, const MessageArguments<T>& message, T* results) {
  const auto ends = simt::device_ends(graph, Device::cuda(gpu.device));
  gsddmm(gpu, simt::EdgeEnds{ends->src(), ends->dst(), graph.num_edges()}, message_call(message), results);
}

}  // namespace bough
