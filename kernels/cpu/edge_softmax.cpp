#include "kernels/cpu/edge_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/edge_softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/edge_softmax_columns.h"
#include "kernels/cpu/row_loop-inl.h"
#include "kernels/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The softmax of one row of edges whose number of columns divides that of the lanes: a vector then holds some edges
/// whole, all of its lanes have the same place in every vector, and the state of a row is one register.
template <typename T>
class NarrowSoftmax {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

 public:
  static bool takes(std::int64_t columns) { return static_cast<std::int64_t>(hn::Lanes(D())) % columns == 0; }

  explicit NarrowSoftmax(std::int64_t columns) : columns_(columns) {}

  /// `count` values: edges times columns.
  HWY_ATTR void forward(const T* scores, std::int64_t count, T* weights) const {
    constexpr T lowest = -std::numeric_limits<T>::infinity();
    V row_max = hn::Set(d, lowest);
    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      row_max = hn::Max(row_max, access.load(d, scores + i, lowest));
    });
    row_max = by_column(row_max, [](V a, V b) HWY_ATTR { return hn::Max(a, b); });
    // A column of -inf alone: terms of exp(-inf - 0) = 0, and nothing to share out.
    row_max = hn::IfThenZeroElse(hn::Eq(row_max, hn::Set(d, lowest)), row_max);

    V row_sum = hn::Zero(d);
    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      const V term = simd::exp(d, hn::Sub(access.load(d, scores + i, lowest), row_max));
      access.store(term, d, weights + i);
      row_sum = hn::Add(row_sum, term);
    });
    row_sum = by_column(row_sum, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
    const V share = hn::IfThenZeroElse(hn::Eq(row_sum, hn::Zero(d)), hn::Div(hn::Set(d, T{1}), row_sum));

    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      access.store(hn::Mul(access.load(d, weights + i, T{0}), share), d, weights + i);
    });
  }

  HWY_ATTR void backward(const T* weights, const T* gradient, std::int64_t count, T* results) const {
    V sum = hn::Zero(d);
    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      sum = hn::MulAdd(access.load(d, weights + i, T{0}), access.load(d, gradient + i, T{0}), sum);
    });
    sum = by_column(sum, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      const V difference = hn::Sub(access.load(d, gradient + i, T{0}), sum);
      access.store(hn::Mul(access.load(d, weights + i, T{0}), difference), d, results + i);
    });
  }

 private:
  /// Combines the lanes of each column; every lane gets the result of its column.
  template <class F>
  HWY_INLINE V by_column(V v, const F& f) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t shift = columns_; shift < lanes; shift *= 2) {
      const auto indices =
          hn::IndicesFromVec(d, hn::And(hn::Add(hn::Iota(places, 0), hn::Set(places, static_cast<Place>(shift))),
                                        hn::Set(places, static_cast<Place>(lanes - 1))));
      v = f(v, hn::TableLookupLanes(v, indices));
    }
    return v;
  }

  using Place = hn::TFromD<hn::RebindToSigned<D>>;
  const D d{};
  const hn::RebindToSigned<D> places{};
  std::int64_t columns_;
};

/// A table of `columns` numbers side by side is read as one stream: lane l of vector v belongs to column
/// (v * lanes + l) % columns, which repeats after `period` vectors. So a reduction by column needs `period` registers'
/// worth of accumulators, whatever the number of columns, and every vector is full.
template <typename T>
struct Stream {
  const hn::ScalableTag<T> d{};
  std::int64_t lanes, columns, period;

  explicit Stream(std::int64_t num_columns)
      : lanes(static_cast<std::int64_t>(hn::Lanes(d))),
        columns(num_columns),
        period(columns / std::gcd(lanes, columns)) {}

  /// Room for one period.
  std::int64_t size() const { return period * lanes; }

  /// Calls f(position, place in the period, access) for each vector of `count` values: simd::Whole, and simd::Part for
  /// the last one where values end inside it.
  template <typename F>
  HWY_INLINE void visit(std::int64_t count, const F& f) const {
    std::int64_t place = 0, position = 0;
    for (; position + lanes <= count; position += lanes) {
      f(position, place, simd::Whole{});
      place = place + lanes == size() ? 0 : place + lanes;
    }
    if (position < count) f(position, place, simd::Part{count - position});
  }

  /// From one period of accumulators to one number for each column.
  template <typename F>
  void fold(const T* accumulators, T* results, const F& f) const {
    std::copy_n(accumulators, columns, results);
    for (std::int64_t i = columns; i < size(); i += columns) {
      for (std::int64_t column = 0; column < columns; ++column) {
        results[column] = f(results[column], accumulators[i + column]);
      }
    }
  }
  /// From one number for each column to a whole period.
  void unfold(const T* numbers, T* repeated) const {
    for (std::int64_t i = 0; i < size(); i += columns) std::copy_n(numbers, columns, repeated + i);
  }
};

/// The columns of one row, with room for accumulators.
template <typename T>
class SoftmaxColumns {
 public:
  SoftmaxColumns(std::int64_t columns, SoftmaxScratch<T>& scratch)
      : stream_(columns), period_(scratch.period(stream_.size())), shifts_(scratch.shifts(stream_.size())) {}

  void row_max(const T* scores, std::int64_t count, T* results) const {
    const auto& s = stream_;
    constexpr T lowest = -std::numeric_limits<T>::infinity();
    std::fill_n(period_, s.size(), lowest);
    s.visit(count, [&](std::int64_t position, std::int64_t place, auto access) HWY_ATTR {
      const auto value = access.load(s.d, scores + position, lowest);
      hn::StoreU(hn::Max(hn::LoadU(s.d, period_ + place), value), s.d, period_ + place);
    });
    s.fold(period_, results, [](T a, T b) HWY_ATTR { return std::max(a, b); });
  }

  /// Sums of exp(score - row_max); also stores the terms if asked to.
  template <bool store>
  void exponentials(const T* scores, std::int64_t count, const T* row_max, T* terms, T* row_sum) const {
    const auto& s = stream_;
    s.unfold(row_max, shifts_);
    std::fill_n(period_, s.size(), T{0});
    s.visit(count, [&](std::int64_t position, std::int64_t place, auto access) HWY_ATTR {
      // Padding is exp(-inf) = 0 in a sum.
      const auto value = access.load(s.d, scores + position, -std::numeric_limits<T>::infinity());
      const auto term = simd::exp(s.d, hn::Sub(value, hn::LoadU(s.d, shifts_ + place)));
      if constexpr (store) access.store(term, s.d, terms + position);
      hn::StoreU(hn::Add(hn::LoadU(s.d, period_ + place), term), s.d, period_ + place);
    });
    s.fold(period_, row_sum, [](T a, T b) HWY_ATTR { return a + b; });
  }

  void scale(T* terms, std::int64_t count, const T* factors) const {
    const auto& s = stream_;
    s.unfold(factors, shifts_);
    s.visit(count, [&](std::int64_t position, std::int64_t place, auto access) HWY_ATTR {
      const auto value = access.load(s.d, terms + position, T{0});
      access.store(hn::Mul(value, hn::LoadU(s.d, shifts_ + place)), s.d, terms + position);
    });
  }

  void dots(const T* weights, const T* gradient, std::int64_t count, T* results) const {
    const auto& s = stream_;
    std::fill_n(period_, s.size(), T{0});
    s.visit(count, [&](std::int64_t position, std::int64_t place, auto access) HWY_ATTR {
      const auto product =
          hn::Mul(access.load(s.d, weights + position, T{0}), access.load(s.d, gradient + position, T{0}));
      hn::StoreU(hn::Add(hn::LoadU(s.d, period_ + place), product), s.d, period_ + place);
    });
    s.fold(period_, results, [](T a, T b) HWY_ATTR { return a + b; });
  }

  void differences(const T* weights, const T* gradient, std::int64_t count, const T* dots, T* results) const {
    const auto& s = stream_;
    s.unfold(dots, shifts_);
    s.visit(count, [&](std::int64_t position, std::int64_t place, auto access) HWY_ATTR {
      const auto difference = hn::Sub(access.load(s.d, gradient + position, T{0}), hn::LoadU(s.d, shifts_ + place));
      access.store(hn::Mul(access.load(s.d, weights + position, T{0}), difference), s.d, results + position);
    });
  }

 private:
  Stream<T> stream_;
  T* period_;
  T* shifts_;
};

/// Rows of edges that need not lie side by side, as one stream.
template <typename T>
class EdgeRowsBuffer {
 public:
  EdgeRowsBuffer(const SoftmaxTask<T>& task, const SoftmaxEdges& range)
      : task_(task), range_(range), width_(task.values.width) {}

  std::int64_t count() const { return (range_.end - range_.begin) * width_; }
  bool in_place() const { return task_.edges.edge_ids == nullptr; }

  const T* gather(Rows<const T> rows, T* buffer) const {
    if (in_place()) return rows[range_.begin];
    with_width([&](auto width) HWY_ATTR {
      T* to = buffer;
      for (std::int64_t position = range_.begin; position < range_.end; ++position, to += width) {
        std::copy_n(rows.data + edge(position) * width, width, to);
      }
    });
    return buffer;
  }
  T* room(Rows<T> rows, T* buffer) const { return in_place() ? rows[range_.begin] : buffer; }
  void scatter(const T* buffer, Rows<T> rows) const {
    if (in_place()) return;
    with_width([&](auto width) HWY_ATTR {
      const T* from = buffer;
      for (std::int64_t position = range_.begin; position < range_.end; ++position, from += width) {
        std::copy_n(from, width, rows.data + edge(position) * width);
      }
    });
  }

  /// Asks for rows that will be needed soon; they lie anywhere in memory.
  void prefetch() const {
    if (in_place()) return;
    const std::int64_t end = std::min(range_.end + edges_ahead, task_.edges.offsets[task_.edges.rows]);
    for (std::int64_t position = range_.begin + edges_ahead; position < end; ++position) {
      __builtin_prefetch(task_.values[edge(position)]);
      if (!task_.forward()) __builtin_prefetch(task_.gradient[edge(position)]);
      __builtin_prefetch(task_.results[edge(position)], 1);
    }
  }

 private:
  static constexpr std::int64_t edges_ahead = 64;

  std::int64_t edge(std::int64_t position) const { return task_.edges.edge_ids[position]; }

  /// Calls f with the width, as a constant where that is a common one.
  template <typename F>
  void with_width(const F& f) const {
    switch (width_) {
      case 1:
        return f(std::integral_constant<std::int64_t, 1>{});
      case 4:
        return f(std::integral_constant<std::int64_t, 4>{});
      case 8:
        return f(std::integral_constant<std::int64_t, 8>{});
      default:
        return f(width_);
    }
  }

  const SoftmaxTask<T>& task_;
  SoftmaxEdges range_;
  std::int64_t width_;
};

template <typename T>
void softmax_edges(const SoftmaxTask<T>& task, const SoftmaxEdges& range, SoftmaxStep step, const ColumnState<T>& state,
                   SoftmaxScratch<T>& scratch) {
  const std::int64_t width = task.values.width;
  const SoftmaxColumns<T> columns(width, scratch);
  const EdgeRowsBuffer<T> edges(task, range);
  const std::int64_t count = edges.count();
  const T* values = edges.gather(task.values, scratch.first(edges.in_place() ? 0 : count));
  T* results = edges.room(task.results, scratch.second(edges.in_place() ? 0 : count));

  if (task.forward()) {
    if (step != SoftmaxStep::write) columns.row_max(values, count, state.row_max);
    T* shifts = scratch.third(2 * width);
    for (std::int64_t column = 0; column < width; ++column) shifts[column] = finite_row_max(state.row_max[column]);
    if (step == SoftmaxStep::measure) {
      columns.template exponentials<false>(values, count, shifts, nullptr, state.row_sum);
      return;
    }
    T* factors = shifts + width;
    columns.template exponentials<true>(values, count, shifts, results, factors);
    for (std::int64_t column = 0; column < width; ++column) {
      factors[column] = share(step == SoftmaxStep::whole ? factors[column] : state.row_sum[column]);
    }
    columns.scale(results, count, factors);
  } else {
    const T* gradient = edges.gather(task.gradient, scratch.third(edges.in_place() ? 0 : count));
    if (step != SoftmaxStep::write) columns.dots(values, gradient, count, state.row_sum);
    if (step == SoftmaxStep::measure) return;
    columns.differences(values, gradient, count, state.row_sum, results);
  }
  edges.scatter(results, task.results);
}

/// The same for a whole row of few columns, without the detour over the state.
template <typename T>
void softmax_narrow_row(const SoftmaxTask<T>& task, const SoftmaxEdges& range, const NarrowSoftmax<T>& columns,
                        SoftmaxScratch<T>& scratch) {
  const EdgeRowsBuffer<T> edges(task, range);
  const std::int64_t count = edges.count();
  const std::int64_t buffered = edges.in_place() ? 0 : count;
  edges.prefetch();
  const T* values = edges.gather(task.values, scratch.first(buffered));
  T* results = edges.room(task.results, scratch.second(buffered));
  if (task.forward()) {
    columns.forward(values, count, results);
  } else {
    columns.backward(values, edges.gather(task.gradient, scratch.third(buffered)), count, results);
  }
  edges.scatter(results, task.results);
}

template <typename T>
void softmax_rows(const SoftmaxTask<T>& task, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = task.values.width;
  const bool narrow = NarrowSoftmax<T>::takes(width);
  const NarrowSoftmax<T> columns(width);
  SoftmaxScratch<T> scratch;
  std::vector<T> state(static_cast<std::size_t>(2 * width));
  for (std::int64_t row = begin; row < end; ++row) {
    const SoftmaxEdges range{task.edges.offsets[row], task.edges.offsets[row + 1]};
    const std::int64_t edges = range.end - range.begin;
    if (edges == 0 || edges > mp::TraversalPlan::split_edges) continue;
    if (narrow) {
      softmax_narrow_row(task, range, columns, scratch);
    } else {
      softmax_edges(task, range, SoftmaxStep::whole, {state.data(), state.data() + width}, scratch);
    }
  }
}

void softmax_rows_float(const SoftmaxTask<float>& task, std::int64_t begin, std::int64_t end) {
  softmax_rows(task, begin, end);
}
void softmax_rows_double(const SoftmaxTask<double>& task, std::int64_t begin, std::int64_t end) {
  softmax_rows(task, begin, end);
}
void softmax_edges_float(const SoftmaxTask<float>& task, const SoftmaxEdges& range, SoftmaxStep step,
                         const ColumnState<float>& state) {
  SoftmaxScratch<float> scratch;
  softmax_edges(task, range, step, state, scratch);
}
void softmax_edges_double(const SoftmaxTask<double>& task, const SoftmaxEdges& range, SoftmaxStep step,
                          const ColumnState<double>& state) {
  SoftmaxScratch<double> scratch;
  softmax_edges(task, range, step, state, scratch);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(softmax_rows_float);
HWY_EXPORT(softmax_rows_double);
HWY_EXPORT(softmax_edges_float);
HWY_EXPORT(softmax_edges_double);

namespace {

template <typename T>
void run_rows(const SoftmaxTask<T>& task, std::int64_t begin, std::int64_t end) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(softmax_rows_float)(task, begin, end);
  } else {
    HWY_DYNAMIC_DISPATCH(softmax_rows_double)(task, begin, end);
  }
}

template <typename T>
void softmax_of(const SoftmaxTask<T>& task, const SoftmaxEdges& range, SoftmaxStep step, const ColumnState<T>& state) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(softmax_edges_float)(task, range, step, state);
  } else {
    HWY_DYNAMIC_DISPATCH(softmax_edges_double)(task, range, step, state);
  }
}

/// States of splits or rows, side by side.
template <typename T>
class ColumnStates {
 public:
  ColumnStates(std::int64_t count, std::int64_t width)
      : width_(width), row_max_(static_cast<std::size_t>(count * width)), row_sum_(row_max_.size()) {}
  ColumnState<T> operator[](std::int64_t i) { return {row_max_.data() + i * width_, row_sum_.data() + i * width_}; }

 private:
  std::int64_t width_;
  std::vector<T> row_max_, row_sum_;
};

/// The state of a row from those of its splits, in order.
template <typename T>
void merge_states(const mp::TraversalPlan::SplitRow& split_row, bool forward, std::int64_t width,
                  ColumnStates<T>& splits, const ColumnState<T>& row) {
  for (std::int64_t column = 0; column < width; ++column) {
    T largest = -std::numeric_limits<T>::infinity();
    T sum = 0;
    for (std::int64_t i = 0; i < split_row.num_splits; ++i)
      largest = std::max(largest, splits[split_row.first_split + i].row_max[column]);
    for (std::int64_t i = 0; i < split_row.num_splits; ++i) {
      const ColumnState<T> part = splits[split_row.first_split + i];
      sum += forward ? part.row_sum[column] * std::exp(part.row_max[column] - finite_row_max(largest))
                     : part.row_sum[column];
    }
    row.row_max[column] = largest;
    row.row_sum[column] = sum;
  }
}

template <typename T>
void run_softmax(const SoftmaxTask<T>& task, const mp::TraversalPlan& plan) {
  const std::int64_t width = task.values.width;
  if (width == 0 || plan.edges == 0) return;
  const Shape row{width};
  const mp::FeatureLayout layout = mp::broadcast_layout(row, std::span(&row, 1));
  mp::TraversalSchedule schedule = mp::make_traversal_schedule(plan, layout, layout.operands[0]);
  schedule.split = !plan.split_rows.empty();  // always: split rows are measured by splits, then written
  schedule.blocks.resize(1);                  // the loops take all columns at once

  ColumnStates<T> splits(plan.num_splits(), width);
  ColumnStates<T> split_rows(static_cast<std::int64_t>(plan.split_rows.size()), width);
  const auto edges_of = [&](const mp::TraversalPlan::SplitRow& split_row, std::int64_t split) {
    const std::int64_t begin =
        task.edges.offsets[split_row.row] + (split - split_row.first_split) * mp::TraversalPlan::split_edges;
    return SoftmaxEdges{begin, std::min(task.edges.offsets[split_row.row + 1], begin + mp::TraversalPlan::split_edges)};
  };
  mp::traverse(
      plan, schedule,
      {.rows = [&](std::int64_t begin, std::int64_t end, const mp::FeatureBlock&) { run_rows(task, begin, end); },
       .split =
           [&](const mp::TraversalPlan::SplitRow& split_row, std::int64_t split, const mp::FeatureBlock&) {
             softmax_of(task, edges_of(split_row, split), SoftmaxStep::measure, splits[split]);
           },
       .merge =
           [&](const mp::TraversalPlan::SplitRow& split_row, const mp::FeatureBlock&) {
             merge_states(split_row, task.forward(), width, splits, split_rows[&split_row - plan.split_rows.data()]);
           }});
  parallel_chunks(plan.num_splits(), schedule.items_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t split = begin; split < end; ++split) {
      const std::int32_t split_row = plan.split_row_of[static_cast<std::size_t>(split)];
      softmax_of(task, edges_of(plan.split_rows[static_cast<std::size_t>(split_row)], split), SoftmaxStep::write,
                 split_rows[split_row]);
    }
  });
}

}  // namespace

template <typename T>
void edge_softmax(Cpu, const mp::Adjacency& edges, const mp::TraversalPlan& plan, Rows<const T> scores,
                  Rows<T> weights) {
  run_softmax(SoftmaxTask<T>{edges, scores, {}, weights}, plan);
}

template <typename T>
void edge_softmax_backward(Cpu, const mp::Adjacency& edges, const mp::TraversalPlan& plan, Rows<const T> weights,
                           Rows<const T> gradient, Rows<T> score_gradient) {
  run_softmax(SoftmaxTask<T>{edges, weights, gradient, score_gradient}, plan);
}

template void edge_softmax(Cpu, const mp::Adjacency&, const mp::TraversalPlan&, Rows<const float>, Rows<float>);
template void edge_softmax(Cpu, const mp::Adjacency&, const mp::TraversalPlan&, Rows<const double>, Rows<double>);
template void edge_softmax_backward(Cpu, const mp::Adjacency&, const mp::TraversalPlan&, Rows<const float>,
                                    Rows<const float>, Rows<float>);
template void edge_softmax_backward(Cpu, const mp::Adjacency&, const mp::TraversalPlan&, Rows<const double>,
                                    Rows<const double>, Rows<double>);

}  // namespace bough
#endif
