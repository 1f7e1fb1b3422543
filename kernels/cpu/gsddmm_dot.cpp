#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "bough/core/parallel.h"
#include "kernels/cpu/gsddmm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gsddmm_dot.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/row_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Products of rows. Adding up the lanes of one vector costs as much as the products themselves, so as many vectors as
/// they have lanes are kept and added up together.
template <typename T>
class DotProducts {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t most_lanes = hn::MaxLanes(D());

 public:
  HWY_INLINE void add(const T* a, const T* b, std::int64_t width, T* result) {
    const auto product = [&](std::int64_t i, V sum, auto access) HWY_ATTR {
      return hn::MulAdd(access.load(d, a + i, T{0}), access.load(d, b + i, T{0}), sum);
    };
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    V even = hn::Zero(d), odd = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
      even = product(i, even, simd::Whole{});
      odd = product(i + lanes, odd, simd::Whole{});
    }
    if (i + lanes <= width) {
      even = product(i, even, simd::Whole{});
      i += lanes;
    }
    if (i < width) odd = product(i, odd, simd::Part{width - i});
    hn::Store(hn::Add(even, odd), d, sums_ + used_ * lanes);
    side_by_side_ = side_by_side_ && (used_ == 0 || result == results_[used_ - 1] + 1);
    results_[used_] = result;
    if (++used_ == lanes) flush();
  }

  HWY_INLINE void flush() {
    if (used_ == 0) return;
    const V totals = folded<most_lanes>(sums_);
    if (side_by_side_ && used_ == most_lanes) {
      hn::StoreU(totals, d, results_[0]);
    } else {
      HWY_ALIGN T lanes[most_lanes];
      hn::Store(totals, d, lanes);
      for (std::int64_t i = 0; i < used_; ++i) *results_[i] = lanes[i];
    }
    used_ = 0;
    side_by_side_ = true;
  }

 private:
  /// Lane i of the result is the sum of all lanes of vector i.
  template <std::int64_t Vectors>
  HWY_INLINE V folded(const T* vectors) const {
    if constexpr (Vectors == 1) {
      return hn::Load(d, vectors);
    } else {
#if HWY_TARGET != HWY_SCALAR
      const V low = folded<Vectors / 2>(vectors);
      const V high = folded<Vectors / 2>(vectors + Vectors / 2 * static_cast<std::int64_t>(hn::Lanes(d)));
      return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
#endif
    }
  }

  const D d{};
  HWY_ALIGN T sums_[most_lanes * most_lanes] = {};
  T* results_[most_lanes] = {};
  std::int64_t used_ = 0;
  bool side_by_side_ = true;  ///< whether the results so far follow each other in memory
};

template <typename T>
void dot_edges(const GsddmmArguments<T>& arguments, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t edges_ahead = 2;
  const mp::FeatureLayout& layout = *arguments.message.layout;
  const auto &left = layout.participants[0], &right = layout.participants[1], &result = layout.participants[2];
  const auto row_of = [](const OperandRows<T>& operand, const mp::FeatureLayout::Participant& features,
                         const mp::EdgeRows& edge) {
    return operand.rows + edge.number[static_cast<int>(operand.end)] * features.width;
  };
  const auto prefetch = [&](const OperandRows<T>& operand, const mp::FeatureLayout::Participant& features,
                            const mp::EdgeRows& edge, const mp::EdgeRows& before) {
    const std::int64_t row = edge.number[static_cast<int>(operand.end)];
    // The processor itself goes on from one row to the next.
    if (row - before.number[static_cast<int>(operand.end)] <= 1) return;
    const auto* bytes = reinterpret_cast<const char*>(row_of(operand, features, edge));
    const auto count = std::min<std::int64_t>(2048, features.width * static_cast<std::int64_t>(sizeof(T)));
    for (std::int64_t line = 0; line < count; line += 64) __builtin_prefetch(bytes + line);
  };

  DotProducts<T> products;
  for (std::int64_t position = begin; position < end; ++position) {
    if (position + edges_ahead < arguments.edges.edges) {
      const mp::EdgeRows before = arguments.edges.at(position + edges_ahead - 1);
      const mp::EdgeRows coming = arguments.edges.at(position + edges_ahead);
      prefetch(arguments.message.lhs, left, coming, before);
      prefetch(arguments.message.rhs, right, coming, before);
    }
    const mp::EdgeRows edge = arguments.edges.at(position);
    const T* a = row_of(arguments.message.lhs, left, edge);
    const T* b = row_of(arguments.message.rhs, right, edge);
    T* to = arguments.results + edge.number[static_cast<int>(mp::End::edge)] * result.width;
    for (std::int64_t outer = 0; outer < layout.outer; ++outer) {
      const auto i = static_cast<std::size_t>(outer);
      products.add(a + left.offsets[i], b + right.offsets[i], layout.inner, to + result.offsets[i]);
    }
  }
  products.flush();
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

template <typename T>
void gsddmm_dot(const GsddmmArguments<T>& arguments) {
  const mp::FeatureLayout& layout = *arguments.message.layout;
  const std::int64_t edges = rows_per_chunk(layout.outer * (layout.inner + 8), 1 << 16);
  parallel_chunks(arguments.edges.edges, edges, [&](std::int64_t begin, std::int64_t end) {
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(dot_edges_float)(arguments, begin, end);
    } else {
      HWY_DYNAMIC_DISPATCH(dot_edges_double)(arguments, begin, end);
    }
  });
}

template void gsddmm_dot(const GsddmmArguments<float>&);
template void gsddmm_dot(const GsddmmArguments<double>&);

}  // namespace bough
#endif
