#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "bough/core/parallel.h"
#include "bough/detail/mp/prefetch.h"
#include "kernels/cpu/gsddmm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gsddmm_dot.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/row_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Sums over the lanes of vectors, each to a place in the results. Adding up the lanes of one vector costs as much as
/// the products in it, so as many vectors as they have lanes are kept and added up together.
template <typename T>
class LaneTotals {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t lanes = hn::MaxLanes(D());

 public:
  static constexpr std::int64_t room = 64;  ///< vectors that may be added between two calls of store_whole

  /// Where the next `count` totals go.
  HWY_INLINE void expect(T* results, std::int64_t count) {
    if (used_ > 0 && results != results_[used_ - 1] + 1) side_by_side_from_ = used_;
    for (std::int64_t i = 0; i < count; ++i) results_[used_ + i] = results + i;
    used_ += count;
  }
  /// The vector of total number `i` of those not stored yet.
  HWY_INLINE void put(std::int64_t i, V sums) { hn::Store(sums, d, sums_ + i * lanes); }
  std::int64_t used() const { return used_; }

  HWY_INLINE void store_whole() {
    std::int64_t done = 0;
    for (; done + lanes <= used_; done += lanes) store(done, lanes);
    if (done == 0) return;
    for (std::int64_t i = done; i < used_; ++i) {
      put(i - done, hn::Load(d, sums_ + i * lanes));
      results_[i - done] = results_[i];
    }
    used_ -= done;
    side_by_side_from_ = std::max<std::int64_t>(0, side_by_side_from_ - done);
  }
  HWY_INLINE void store_rest() {
    store(0, used_);
    used_ = side_by_side_from_ = 0;
  }

 private:
  HWY_INLINE void store(std::int64_t first, std::int64_t count) const {
    const V totals = folded<lanes>(sums_ + first * lanes);
    if (count == lanes && side_by_side_from_ <= first) {
      hn::StoreU(totals, d, results_[first]);
      return;
    }
    HWY_ALIGN T values[lanes];
    hn::Store(totals, d, values);
    for (std::int64_t i = 0; i < count; ++i) *results_[first + i] = values[i];
  }

  /// Lane i of the result is the sum of all lanes of vector i.
  template <std::int64_t Vectors>
  HWY_INLINE V folded(const T* vectors) const {
    if constexpr (Vectors == 1) {
      return hn::Load(d, vectors);
    } else {
#if HWY_TARGET != HWY_SCALAR
      const V low = folded<Vectors / 2>(vectors);
      const V high = folded<Vectors / 2>(vectors + Vectors / 2 * lanes);
      return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
#endif
    }
  }

  const D d{};
  HWY_ALIGN T sums_[(lanes + room) * lanes] = {};
  T* results_[lanes + room] = {};
  std::int64_t used_ = 0;
  std::int64_t side_by_side_from_ = 0;  ///< from here on the results follow each other in memory
};

/// Dot products of the two operands of edges. `apart` is the operand whose rows are looked up edge by edge, `shared`
/// the one that several edges of a destination have in common.
template <typename T>
class EdgeDots {
 public:
  EdgeDots(const GsddmmArguments<T>& arguments)
      : edges_(arguments.edges), layout_(*arguments.message.layout), results_(arguments.results) {
    const bool swap = arguments.message.lhs.end == mp::End::row;
    apart_ = {swap ? arguments.message.rhs : arguments.message.lhs, layout_.operands[swap ? 1 : 0]};
    shared_ = {swap ? arguments.message.lhs : arguments.message.rhs, layout_.operands[swap ? 0 : 1]};
  }

  HWY_ATTR void run(std::int64_t begin, std::int64_t end) {
    std::int64_t position = begin;
    while (position < end) {
      prefetch(position + at_once);
      if (position + at_once <= end &&
          shared_.at(edges_.at(position)) == shared_.at(edges_.at(position + at_once - 1)) &&
          shared_.operand.end == mp::End::row) {
        take<at_once>(position);
        position += at_once;
      } else {
        take<1>(position);
        ++position;
      }
    }
    totals_.store_rest();
  }

 private:
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t at_once = 4;
  static constexpr std::int64_t outers_at_once = LaneTotals<T>::room / at_once;

  struct RowsOf {
    OperandRows<T> operand;
    const std::int64_t* offsets = nullptr;
    std::int64_t width = 0;

    RowsOf() = default;
    RowsOf(const OperandRows<T>& rows, const mp::FeatureLayout::Operand& features)
        : operand(rows), offsets(features.offsets.data()), width(features.width) {}
    std::int64_t row(const mp::EdgeRows& edge) const { return edge.number[static_cast<int>(operand.end)]; }
    const T* at(const mp::EdgeRows& edge) const { return operand.rows + row(edge) * width; }
  };

  /// Edges that follow each other and have the same row of the shared operand.
  template <std::int64_t Edges>
  HWY_INLINE void take(std::int64_t position) {
    const mp::FeatureLayout::Operand& result = layout_.operands[2];
    const T *first, *second, *third, *fourth;
    first = apart_.at(edges_.at(position));
    second = apart_.at(edges_.at(position + (Edges > 1 ? 1 : 0)));
    third = apart_.at(edges_.at(position + (Edges > 1 ? 2 : 0)));
    fourth = apart_.at(edges_.at(position + (Edges > 1 ? 3 : 0)));
    const T* common = shared_.at(edges_.at(position));
    for (std::int64_t from = 0; from < layout_.outer; from += outers_at_once) {
      const std::int64_t outers = std::min(outers_at_once, layout_.outer - from);
      const std::int64_t first_total = totals_.used();
      for (std::int64_t i = 0; i < Edges; ++i) {
        T* to = results_ + edges_.at(position + i).number[static_cast<int>(mp::End::edge)] * result.width;
        totals_.expect(to + result.offsets[static_cast<std::size_t>(from)], outers);
      }
      for (std::int64_t outer = 0; outer < outers; ++outer) {
        const std::int64_t at = apart_.offsets[from + outer];
        dots<Edges>(common + shared_.offsets[from + outer], first + at, second + at, third + at, fourth + at,
                    first_total + outer, outers);
      }
      totals_.store_whole();
    }
  }

  template <std::int64_t Edges>
  HWY_INLINE void dots(const T* common, const T* first, const T* second, const T* third, const T* fourth,
                       std::int64_t total, std::int64_t stride) {
    V a = hn::Zero(d), b = a, c = a, e = a;
    const auto add = [&](std::int64_t i, auto access) HWY_ATTR {
      const V factor = access.load(d, common + i, T{0});
      a = hn::MulAdd(access.load(d, first + i, T{0}), factor, a);
      if constexpr (Edges > 1) {
        b = hn::MulAdd(access.load(d, second + i, T{0}), factor, b);
        c = hn::MulAdd(access.load(d, third + i, T{0}), factor, c);
        e = hn::MulAdd(access.load(d, fourth + i, T{0}), factor, e);
      }
    };
    simd::for_each_vector(d, layout_.inner, add);
    totals_.put(total, a);
    if constexpr (Edges > 1) {
      totals_.put(total + stride, b);
      totals_.put(total + 2 * stride, c);
      totals_.put(total + 3 * stride, e);
    }
  }

  /// Asks for the rows of edges from `position` on that lie anywhere; what follows the last row, the processor guesses.
  HWY_INLINE void prefetch(std::int64_t position) const {
    for (std::int64_t i = position; i < std::min(position + at_once, edges_.edges); ++i) {
      const std::int64_t row = apart_.row(edges_.at(i));
      if (row - apart_.row(edges_.at(i - 1)) == 1) continue;
      mp::prefetch_row(apart_.operand.rows + row * apart_.width,
                       std::min<std::int64_t>(2048, apart_.width * static_cast<std::int64_t>(sizeof(T))));
    }
  }

  const D d{};
  mp::EdgeList edges_;
  const mp::FeatureLayout& layout_;
  T* results_;
  RowsOf apart_, shared_;
  LaneTotals<T> totals_;
};

template <typename T>
void dot_edges(const GsddmmArguments<T>& arguments, std::int64_t begin, std::int64_t end) {
  EdgeDots<T>(arguments).run(begin, end);
}

void dot_edges_float(const GsddmmArguments<float>& arguments, std::int64_t begin, std::int64_t end) {
  dot_edges(arguments, begin, end);
}
void dot_edges_double(const GsddmmArguments<double>& arguments, std::int64_t begin, std::int64_t end) {
  dot_edges(arguments, begin, end);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(dot_edges_float);
HWY_EXPORT(dot_edges_double);

namespace {

template <typename T>
void run_edges(const GsddmmArguments<T>& arguments, std::int64_t begin, std::int64_t end) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(dot_edges_float)(arguments, begin, end);
  } else {
    HWY_DYNAMIC_DISPATCH(dot_edges_double)(arguments, begin, end);
  }
}

}  // namespace

template <typename T>
void gsddmm_dot(const GsddmmArguments<T>& arguments) {
  const mp::FeatureLayout& layout = *arguments.message.layout;
  const std::int64_t edges_per_task = rows_per_chunk(layout.outer * (layout.inner + 8), 1 << 16);
  const auto items = static_cast<std::int64_t>(arguments.items.size());
  if (items == 0) {
    parallel_chunks(arguments.edges.edges, edges_per_task,
                    [&](std::int64_t begin, std::int64_t end) { run_edges(arguments, begin, end); });
    return;
  }
  parallel_chunks(items, rows_per_chunk(arguments.edges.edges / items, edges_per_task),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      const mp::EdgeWorkItem item = arguments.items[static_cast<std::size_t>(i)];
                      run_edges(arguments, item.begin, item.end);
                    }
                  });
}

template void gsddmm_dot(const GsddmmArguments<float>&);
template void gsddmm_dot(const GsddmmArguments<double>&);

}  // namespace bough
#endif
