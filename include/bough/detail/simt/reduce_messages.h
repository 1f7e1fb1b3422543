#pragma once

#include <cstdint>

#include "bough/detail/mp/edge_kernel.h"
#include "bough/detail/simt/message_features.h"
#include "bough/detail/simt/row_items.h"

/// Messages reduced by row: a warp for each row, its lanes for neighbouring features. Rows with very many edges are
/// reduced in splits, whose results a second kernel takes together in order.
///
/// A message has `features` (MessageFeatures), `bool reads(mp::End) const`, which says whether it needs that number of
/// an edge, and `T at(context, edge, outer, inner) const`. A reduction is one of bough/mp/functors.h or of the user's
/// own, see message_reduce.
namespace bough::simt {

template <typename T>
struct ReducedRows {
  T* rows = nullptr;
  std::int32_t* arg_indices = nullptr;  ///< argmax or argmin, an edge; null if not wanted
  T empty{};                            ///< for rows without edges
};

/// One element of a result on its way.
template <typename T>
struct Reduced {
  T value;
  std::int32_t arg_index;
};

/// The last step of a reduction, if it has one.
template <typename T, typename Reduce>
BOUGH_DEVICE T finished(const Reduce& reduce, T value, std::int64_t messages) {
  if constexpr (mp::HasFinish<Reduce, T>) {
    if (reduce.has_finish()) return reduce.finish(value, messages);
  }
  return value;
}

template <typename T, typename Message, typename Reduce, bool KeepArg>
struct ReduceMessages {
  static constexpr int block_size = 128;

  RowItemView rows;
  EdgeView edges;  ///< neighbours and edge_ids may be null: both are then the position
  Message message;
  Reduce reduce;
  ReducedRows<T> results;
  ReducedRows<T> partials;  ///< [num_partials, width]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows.num_items) return;
    const RowItem item = context.load(rows.items + work);
    if (message.features.sums_inner) {
      for (std::int64_t i = 0; i < message.features.width; ++i) {
        const auto element = message.features.element(i);
        const Reduced<T> reduced = reduced_of(
            context, item, element,
            [&](const mp::EdgeRows& edge, std::int64_t outer) { return inner_sum<T>(context, message, edge, outer); });
        if (context.lane() == 0) store(context, item, i, reduced);
      }
      return;
    }
    for (std::int64_t i = context.lane(); i < message.features.width; i += warp_size) {
      const auto element = message.features.element(i);
      store(context, item, i, reduced_of(context, item, element, [&](const mp::EdgeRows& edge, std::int64_t outer) {
              return message.at(context, edge, outer, element.inner_index);
            }));
    }
  }

 private:
  template <typename Context, typename MessageOf>
  BOUGH_DEVICE Reduced<T> reduced_of(Context& context, const RowItem& item, const MessageFeatures::Element& element,
                                     const MessageOf& message_of) const {
    const bool neighbours = edges.neighbours != nullptr && message.reads(mp::End::neighbour);
    const bool ids = edges.edge_ids != nullptr && (KeepArg || message.reads(mp::End::edge));
    const auto edge_at = [&](std::int64_t position) {
      return mp::EdgeRows{{item.row, neighbours ? context.load(edges.neighbours + position) : position,
                           ids ? context.load(edges.edge_ids + position) : position}};
    };
    if (item.begin == item.end) return {results.empty, -1};
    Reduced<T> reduced{reduce.template identity<T>(), 0};
    if (KeepArg) reduced.arg_index = static_cast<std::int32_t>(edge_at(item.begin).number[2]);
    for (std::int64_t position = item.begin; position < item.end; ++position) {
      const mp::EdgeRows edge = edge_at(position);
      message.features.for_outers_of(context, element, [&](std::int64_t outer) {
        mp::take<KeepArg>(reduce, reduced.value, reduced.arg_index, message_of(edge, outer),
                          static_cast<std::int32_t>(edge.number[2]));
      });
    }
    return reduced;
  }

  template <typename Context>
  BOUGH_DEVICE void store(Context& context, const RowItem& item, std::int64_t element, Reduced<T> reduced) const {
    const bool whole = item.partial < 0;
    if (whole && item.end > item.begin) reduced.value = finished(reduce, reduced.value, item.end - item.begin);
    const ReducedRows<T>& target = whole ? results : partials;
    const std::int64_t place = (whole ? item.row : item.partial) * message.features.width + element;
    context.store(target.rows + place, reduced.value);
    if (KeepArg) context.store(target.arg_indices + place, reduced.arg_index);
  }
};

/// Takes the splits of split rows together, in order: a warp for each row.
template <typename T, typename Reduce, bool KeepArg>
struct MergeSplits {
  static constexpr int block_size = 128;

  RowItemView rows;
  const std::int64_t* offsets = nullptr;
  std::int64_t width = 1;
  Reduce reduce;
  ReducedRows<T> results, partials;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows.num_split_rows) return;
    const SplitRowItem row = context.load(rows.split_rows + work);
    const std::int64_t count = context.load(offsets + row.row + 1) - context.load(offsets + row.row);
    for (std::int64_t element = context.lane(); element < width; element += warp_size) {
      Reduced<T> whole = partial(context, row.first_partial, element);
      for (std::int32_t i = 1; i < row.num_partials; ++i) {
        const Reduced<T> part = partial(context, row.first_partial + i, element);
        mp::take<KeepArg>(reduce, whole.value, whole.arg_index, part.value, part.arg_index);
      }
      context.store(results.rows + row.row * width + element, finished(reduce, whole.value, count));
      if (KeepArg) context.store(results.arg_indices + row.row * width + element, whole.arg_index);
    }
  }

 private:
  template <typename Context>
  BOUGH_DEVICE Reduced<T> partial(Context& context, std::int64_t number, std::int64_t element) const {
    const std::int64_t place = number * width + element;
    return {context.load(partials.rows + place), KeepArg ? context.load(partials.arg_indices + place) : 0};
  }
};

/// Names of the two kernels, for traces.
struct ReductionNames {
  const char* reduce = "";
  const char* merge = "";
};

/// Writes every row.
template <bool KeepArg, typename Queue, typename T, typename Message, typename Reduce>
void reduce_messages(Queue& queue, const ReductionNames& names, const RowItemView& rows, const EdgeView& edges,
                     const Message& message, const Reduce& reduce, const ReducedRows<T>& results) {
  const std::int64_t width = message.features.width;
  const auto values = queue.template scratch<T>(rows.num_partials * width);
  const auto arg_indices = queue.template scratch<std::int32_t>(KeepArg ? rows.num_partials * width : 0);
  const ReducedRows<T> partials{values.data(), arg_indices.data()};
  using Body = ReduceMessages<T, Message, Reduce, KeepArg>;
  launch_warps(queue, names.reduce, rows.num_items, Body{rows, edges, message, reduce, results, partials});
  using Merge = MergeSplits<T, Reduce, KeepArg>;
  launch_warps(queue, names.merge, rows.num_split_rows, Merge{rows, edges.offsets, width, reduce, results, partials});
}

}  // namespace bough::simt
