#pragma once

#include <cmath>
#include <limits>

#include "bough/detail/simt/collective.h"
#include "bough/detail/simt/row_items.h"

/// Softmax over the edges of each row, column by column, in two passes: what a row needs to know of all its edges (in
/// splits that are merged in order), then every edge. Lanes take neighbouring columns of neighbouring edges.
namespace bough::simt {

/// What scores are relative to, given the largest one; finite also where all of them are -infinity.
template <typename T>
BOUGH_DEVICE T score_base(T row_max) {
  const T lowest = std::numeric_limits<T>::lowest();
  return row_max < lowest ? lowest : row_max;
}

/// Largest score, and the sum of exponentials relative to it.
template <typename T>
struct SoftmaxState {
  T row_max = -std::numeric_limits<T>::infinity();
  T row_sum = 0;

  BOUGH_DEVICE void take(const SoftmaxState& other) {
    const T new_max = mp::Max{}(row_max, other.row_max), base = score_base(new_max);
    row_sum = row_sum * std::exp(row_max - base) + other.row_sum * std::exp(other.row_max - base);
    row_max = new_max;
  }
  template <typename Context>
  BOUGH_DEVICE void take_lane(Context& context, int distance) {
    SoftmaxState other;
    other.row_max = context.shuffle_xor(row_max, distance);
    other.row_sum = context.shuffle_xor(row_sum, distance);
    take(other);
  }
};

/// weight = exp(score - row_max) / row_sum
template <typename T>
struct SoftmaxForward {
  using State = SoftmaxState<T>;
  static constexpr const char* name = "edge_softmax";
  const T* scores = nullptr;
  T* weights = nullptr;

  template <typename Context>
  BOUGH_DEVICE State state_of(Context& context, std::int64_t place) const {
    State state;
    state.row_max = context.load(scores + place);
    state.row_sum = state.row_max < std::numeric_limits<T>::lowest() ? T{0} : T{1};
    return state;
  }
  template <typename Context>
  BOUGH_DEVICE void finish(Context& context, std::int64_t place, const State& row) const {
    const T p = std::exp(context.load(scores + place) - score_base(row.row_max));
    context.store(weights + place, row.row_sum == T{0} ? T{0} : p / row.row_sum);
  }
};

template <typename T>
struct ProductState {
  T sum = 0;

  BOUGH_DEVICE void take(const ProductState& other) { sum += other.sum; }
  template <typename Context>
  BOUGH_DEVICE void take_lane(Context& context, int distance) {
    sum += context.shuffle_xor(sum, distance);
  }
};

/// score gradient = weight * (gradient - the row's sum of weight * gradient)
template <typename T>
struct SoftmaxBackward {
  using State = ProductState<T>;
  static constexpr const char* name = "edge_softmax_backward";
  const T* weights = nullptr;
  const T* gradient = nullptr;
  T* score_gradient = nullptr;

  template <typename Context>
  BOUGH_DEVICE State state_of(Context& context, std::int64_t place) const {
    return {context.load(weights + place) * context.load(gradient + place)};
  }
  template <typename Context>
  BOUGH_DEVICE void finish(Context& context, std::int64_t place, const State& row) const {
    context.store(score_gradient + place, context.load(weights + place) * (context.load(gradient + place) - row.sum));
  }
};

/// A warp's lanes as columns times edges.
struct ColumnLanes {
  int columns = 1;  ///< a power of two up to 32

  static ColumnLanes for_width(std::int64_t width) {
    ColumnLanes lanes;
    while (lanes.columns < width && lanes.columns < warp_size) lanes.columns *= 2;
    return lanes;
  }
};

/// What both passes over the edges read.
template <typename Pass>
struct SoftmaxRows {
  RowItemView rows;
  const std::int32_t* edge_ids = nullptr;
  std::int64_t width = 1;
  ColumnLanes lanes;
  Pass pass;

  /// Calls f(place) for the elements of a lane in one block of columns.
  template <typename Context, typename F>
  BOUGH_DEVICE void for_elements(Context& context, const RowItem& item, std::int64_t column, const F& f) const {
    if (column >= width) return;
    for (std::int64_t p = item.begin + context.lane() / lanes.columns; p < item.end; p += warp_size / lanes.columns) {
      const std::int64_t edge = edge_ids == nullptr ? p : context.load(edge_ids + p);
      f(edge * width + column);
    }
  }
};

template <typename Pass>
struct RowStates {
  static constexpr int block_size = 128;
  using State = typename Pass::State;

  SoftmaxRows<Pass> softmax;
  State* states = nullptr;    ///< [rows, width]
  State* partials = nullptr;  ///< [num_partials, width]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context), width = softmax.width;
    if (work >= softmax.rows.num_items) return;
    const RowItem item = context.load(softmax.rows.items + work);
    const int columns = softmax.lanes.columns;
    for (std::int64_t first = 0; first < width; first += columns) {
      const std::int64_t column = first + context.lane() % columns;
      State state;
      softmax.for_elements(context, item, column,
                           [&](std::int64_t place) { state.take(softmax.pass.state_of(context, place)); });
      for (int distance = columns; distance < warp_size; distance *= 2) state.take_lane(context, distance);
      if (context.lane() >= columns || column >= width) continue;
      if (item.partial < 0) {
        context.store(states + item.row * width + column, state);
      } else {
        context.store(partials + item.partial * width + column, state);
      }
    }
  }
};

template <typename Pass>
struct MergeRowStates {
  static constexpr int block_size = 128;
  using State = typename Pass::State;

  RowItemView rows;
  std::int64_t width = 1;
  State* states = nullptr;
  const State* partials = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t index = thread_number<block_size>(context);
    if (index >= rows.num_split_rows * width) return;
    const SplitRowItem row = context.load(rows.split_rows + index / width);
    State state;
    for (std::int32_t i = 0; i < row.num_partials; ++i) {
      state.take(context.load(partials + (row.first_partial + i) * width + index % width));
    }
    context.store(states + row.row * width + index % width, state);
  }
};

template <typename Pass>
struct FinishRows {
  static constexpr int block_size = 128;
  using State = typename Pass::State;

  SoftmaxRows<Pass> softmax;
  const State* states = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context), width = softmax.width;
    if (work >= softmax.rows.num_items) return;
    const RowItem item = context.load(softmax.rows.items + work);
    const int columns = softmax.lanes.columns;
    for (std::int64_t column = context.lane() % columns; column < width; column += columns) {
      const State state = context.load(states + item.row * width + column);
      softmax.for_elements(context, item, column,
                           [&](std::int64_t place) { softmax.pass.finish(context, place, state); });
    }
  }
};

/// Both passes for SoftmaxForward or SoftmaxBackward. edge_ids may be null: position p then holds edge p.
template <typename Queue, typename Pass>
void softmax_rows(Queue& queue, const RowItemView& rows, std::int64_t num_rows, const std::int32_t* edge_ids,
                  std::int64_t width, const Pass& pass) {
  if (width == 0) return;
  using State = typename Pass::State;
  const auto states = queue.template scratch<State>(num_rows * width);
  const auto partials = queue.template scratch<State>(rows.num_partials * width);
  const SoftmaxRows<Pass> softmax{rows, edge_ids, width, ColumnLanes::for_width(width), pass};
  launch_warps(queue, Pass::name, rows.num_items, RowStates<Pass>{softmax, states.data(), partials.data()});
  launch_threads(queue, Pass::name, rows.num_split_rows * width,
                 MergeRowStates<Pass>{rows, width, states.data(), partials.data()});
  launch_warps(queue, Pass::name, rows.num_items, FinishRows<Pass>{softmax, states.data()});
}

}  // namespace bough::simt
