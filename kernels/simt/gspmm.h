#pragma once

#include <limits>

#include "bough/mp/edge_kernel.h"
#include "kernels/simt/message.h"

/// Messages reduced by row: a warp for each row, its lanes for neighbouring features. Rows with very many edges are cut
/// into segments, which a second kernel takes together in order.
namespace bough::simt {

template <typename T>
struct GspmmResults {
  T* rows = nullptr;
  std::int32_t* winners = nullptr;  ///< the edge that won, for maximum and minimum; null if nobody asks
  T empty{};                        ///< for rows without edges
  bool mean = false;                ///< divided by the number of edges
};

/// One element of a result on its way.
template <typename T>
struct Reduced {
  T value;
  std::int32_t winner;
};

template <typename T, typename Reduce, bool KeepWinner>
struct Gspmm {
  static constexpr int block_size = 128;

  RowItemView rows;
  EdgeView edges;  ///< neighbours and edge_ids may be null: both are then the position
  MessageView<T> message;
  GspmmResults<T> results;
  GspmmResults<T> partials;  ///< [num_partials, width]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows.num_items) return;
    const RowItem item = context.load(rows.items + work);
    if (message.sums_inner) {
      for (std::int64_t i = 0; i < message.width; ++i) {
        const auto element = message.element(i);
        const Reduced<T> reduced = reduce(context, item, element, [&](const mp::EdgeRows& edge, std::int64_t outer) {
          return message.inner_sum(context, edge, outer);
        });
        if (context.lane() == 0) store(context, item, i, reduced);
      }
      return;
    }
    for (std::int64_t i = context.lane(); i < message.width; i += warp_size) {
      const auto element = message.element(i);
      store(context, item, i, reduce(context, item, element, [&](const mp::EdgeRows& edge, std::int64_t outer) {
              return message.at(context, edge, outer, element.inner_index);
            }));
    }
  }

 private:
  template <typename Context, typename MessageOf>
  BOUGH_DEVICE Reduced<T> reduce(Context& context, const RowItem& item, const typename MessageView<T>::Element& element,
                                 const MessageOf& message_of) const {
    const bool neighbours = edges.neighbours != nullptr && message.reads(mp::End::neighbour);
    const bool ids = edges.edge_ids != nullptr && (KeepWinner || message.reads(mp::End::edge));
    const auto edge_at = [&](std::int64_t position) {
      return mp::EdgeRows{{item.row, neighbours ? context.load(edges.neighbours + position) : position,
                           ids ? context.load(edges.edge_ids + position) : position}};
    };
    if (item.begin == item.end) return {results.empty, -1};
    Reduced<T> reduced{Reduce::template identity<T>(), 0};
    if (KeepWinner) reduced.winner = static_cast<std::int32_t>(edge_at(item.begin).number[2]);
    for (std::int64_t position = item.begin; position < item.end; ++position) {
      const mp::EdgeRows edge = edge_at(position);
      message.for_outers_of(context, element, [&](std::int64_t outer) {
        mp::take<KeepWinner>(Reduce{}, reduced.value, reduced.winner, message_of(edge, outer),
                             static_cast<std::int32_t>(edge.number[2]));
      });
    }
    return reduced;
  }

  template <typename Context>
  BOUGH_DEVICE void store(Context& context, const RowItem& item, std::int64_t element, Reduced<T> reduced) const {
    const bool whole = item.partial < 0;
    if (results.mean && whole && item.end > item.begin) reduced.value /= static_cast<T>(item.end - item.begin);
    const GspmmResults<T>& target = whole ? results : partials;
    const std::int64_t place = (whole ? item.row : item.partial) * message.width + element;
    context.store(target.rows + place, reduced.value);
    if (KeepWinner) context.store(target.winners + place, reduced.winner);
  }
};

/// Takes the segments of cut rows together, in order: a warp for each row.
template <typename T, typename Reduce, bool KeepWinner>
struct MergeGspmm {
  static constexpr int block_size = 128;

  RowItemView rows;
  const std::int64_t* offsets = nullptr;
  std::int64_t width = 1;
  GspmmResults<T> results, partials;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows.num_cut_rows) return;
    const CutRow row = context.load(rows.cut_rows + work);
    const std::int64_t count = context.load(offsets + row.row + 1) - context.load(offsets + row.row);
    for (std::int64_t element = context.lane(); element < width; element += warp_size) {
      Reduced<T> whole = partial(context, row.first_partial, element);
      for (std::int32_t i = 1; i < row.num_partials; ++i) {
        const Reduced<T> part = partial(context, row.first_partial + i, element);
        mp::take<KeepWinner>(Reduce{}, whole.value, whole.winner, part.value, part.winner);
      }
      if (results.mean) whole.value /= static_cast<T>(count);
      context.store(results.rows + row.row * width + element, whole.value);
      if (KeepWinner) context.store(results.winners + row.row * width + element, whole.winner);
    }
  }

 private:
  template <typename Context>
  BOUGH_DEVICE Reduced<T> partial(Context& context, std::int64_t number, std::int64_t element) const {
    const std::int64_t place = number * width + element;
    return {context.load(partials.rows + place), KeepWinner ? context.load(partials.winners + place) : 0};
  }
};

template <typename Reduce, bool KeepWinner, typename Queue, typename T>
void reduce_rows(Queue& queue, const RowItemView& rows, const EdgeView& edges, const MessageView<T>& message,
                 const GspmmResults<T>& results) {
  const auto values = queue.template scratch<T>(rows.num_partials * message.width);
  const auto winners = queue.template scratch<std::int32_t>(KeepWinner ? rows.num_partials * message.width : 0);
  const GspmmResults<T> partials{values.data(), winners.data()};
  using Body = Gspmm<T, Reduce, KeepWinner>;
  launch_warps(queue, "gspmm", rows.num_items, Body{rows, edges, message, results, partials});
  using Merge = MergeGspmm<T, Reduce, KeepWinner>;
  launch_warps(queue, "gspmm_merge", rows.num_cut_rows, Merge{rows, edges.offsets, message.width, results, partials});
}

/// Writes every row. Also segment_reduce, and sums of rows by a sorted index: neither has neighbours.
template <typename Queue, typename T>
void gspmm(Queue& queue, const RowItemView& rows, const EdgeView& edges, const MessageCall<T>& call, ReduceOp reduce,
           GspmmResults<T> results) {
  const UploadedMessage<Queue, T> message(queue, call);
  const auto selected = [&]<typename Reduce>(Reduce) {
    if (results.winners != nullptr) return reduce_rows<Reduce, true>(queue, rows, edges, message.view(), results);
    reduce_rows<Reduce, false>(queue, rows, edges, message.view(), results);
  };
  results.mean = reduce == ReduceOp::mean;
  switch (reduce) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      return reduce_rows<mp::Sum, false>(queue, rows, edges, message.view(), results);
    case ReduceOp::max:
      return selected(mp::Max{});
    case ReduceOp::min:
      return selected(mp::Min{});
    case ReduceOp::prod:
      return reduce_rows<mp::Product, false>(queue, rows, edges, message.view(), results);
  }
}

}  // namespace bough::simt
