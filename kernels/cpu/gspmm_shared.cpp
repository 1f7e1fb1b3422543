#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/gspmm.h"
#include "kernels/scratch.h"
#include "kernels/plan/shared_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gspmm_shared.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/row_loop-inl.h"
#include "kernels/cpu/shared_lists.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Total {
  template <class V>
  HWY_INLINE V operator()(V total, V message) const {
    return hn::Add(total, message);
  }
};

/// The greater one; a NaN is greater than any number.
struct Greatest {
  template <class V>
  HWY_INLINE V operator()(V best, V message) const {
    return hn::IfThenElse(hn::Or(hn::Ge(best, message), hn::IsNaN(best)), best, message);
  }
};

struct Least {
  template <class V>
  HWY_INLINE V operator()(V best, V message) const {
    return hn::IfThenElse(hn::Or(hn::Le(best, message), hn::IsNaN(best)), best, message);
  }
};

/// Combines rows, in order, into one. Vectors are taken by eights, so that the sums stay in registers.
template <class Combine, typename T>
class RowCombiner {
 public:
  RowCombiner(std::int64_t width, T divisor, bool stream) : width_(width), divisor_(divisor), stream_(stream) {}

  HWY_ATTR void run(const T* const* rows, std::int64_t count, T* result) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + 8 * lanes <= width_; i += 8 * lanes) eight(rows, count, i, result);
    for (; i + lanes <= width_; i += lanes) one(rows, count, i, simd::Whole{}, result);
    if (i < width_) one(rows, count, i, simd::Part{width_ - i}, result);
  }

 private:
  using V = hn::Vec<hn::ScalableTag<T>>;

  HWY_INLINE void eight(const T* const* rows, std::int64_t count, std::int64_t at, T* result) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const Combine combine;
    const T* row = rows[0] + at;
    V a = hn::LoadU(d, row), b = hn::LoadU(d, row + lanes);
    V c = hn::LoadU(d, row + 2 * lanes), e = hn::LoadU(d, row + 3 * lanes);
    V f = hn::LoadU(d, row + 4 * lanes), g = hn::LoadU(d, row + 5 * lanes);
    V h = hn::LoadU(d, row + 6 * lanes), k = hn::LoadU(d, row + 7 * lanes);
    for (std::int64_t i = 1; i < count; ++i) {
      row = rows[i] + at;
      a = combine(a, hn::LoadU(d, row));
      b = combine(b, hn::LoadU(d, row + lanes));
      c = combine(c, hn::LoadU(d, row + 2 * lanes));
      e = combine(e, hn::LoadU(d, row + 3 * lanes));
      f = combine(f, hn::LoadU(d, row + 4 * lanes));
      g = combine(g, hn::LoadU(d, row + 5 * lanes));
      h = combine(h, hn::LoadU(d, row + 6 * lanes));
      k = combine(k, hn::LoadU(d, row + 7 * lanes));
    }
    T* to = result + at;
    store(a, to);
    store(b, to + lanes);
    store(c, to + 2 * lanes);
    store(e, to + 3 * lanes);
    store(f, to + 4 * lanes);
    store(g, to + 5 * lanes);
    store(h, to + 6 * lanes);
    store(k, to + 7 * lanes);
  }

  template <class Access>
  HWY_INLINE void one(const T* const* rows, std::int64_t count, std::int64_t at, Access access, T* result) const {
    const Combine combine;
    V total = access.load(d, rows[0] + at, T{0});
    for (std::int64_t i = 1; i < count; ++i) total = combine(total, access.load(d, rows[i] + at, T{0}));
    access.store(finished(total), d, result + at);
  }

  HWY_INLINE V finished(V total) const { return divisor_ == T{1} ? total : hn::Div(total, hn::Set(d, divisor_)); }
  HWY_INLINE void store(V total, T* to) const {
    if (stream_) {
      hn::Stream(finished(total), d, to);
    } else {
      hn::StoreU(finished(total), d, to);
    }
  }

  const hn::ScalableTag<T> d{};
  std::int64_t width_;
  T divisor_;
  bool stream_;
};

template <typename T>
void combine_lists(const SharedLists<T>& lists, std::int64_t begin, std::int64_t end) {
  const auto run = [&](auto combine) HWY_ATTR {
    const T* rows[mp::SharedRows::longest_list + 1];
    for (std::int64_t list = begin; list < end; ++list) {
      const std::int64_t count = lists.resolve(list, rows);
      const std::int64_t number = list - begin;
      if (count == 0) {
        std::fill_n(lists.result(number), lists.width, lists.empty);
        continue;
      }
      RowCombiner<decltype(combine), T>(lists.width, lists.divisor(number), lists.stream)
          .run(rows, count, lists.result(number));
    }
    if (lists.stream) hwy::FlushStream();
  };
  switch (lists.reduce) {
    case ReduceOp::max:
      return run(Greatest{});
    case ReduceOp::min:
      return run(Least{});
    default:
      return run(Total{});
  }
}

void combine_lists_float(const SharedLists<float>& lists, std::int64_t begin, std::int64_t end) {
  combine_lists(lists, begin, end);
}
void combine_lists_double(const SharedLists<double>& lists, std::int64_t begin, std::int64_t end) {
  combine_lists(lists, begin, end);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(combine_lists_float);
HWY_EXPORT(combine_lists_double);

namespace {

/// Results larger than this are written past the caches, which they would only empty.
constexpr std::int64_t streamed_bytes = std::int64_t{8} << 20;

/// Elements read and written below which one thread is faster than several.
constexpr std::int64_t serial_work = 1 << 16;

template <typename T>
void combine(const SharedLists<T>& lists, std::int64_t begin, std::int64_t end) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(combine_lists_float)(lists, begin, end);
  } else {
    HWY_DYNAMIC_DISPATCH(combine_lists_double)(lists, begin, end);
  }
}

bool can_stream(const void* data, std::int64_t row_bytes, std::int64_t rows) {
  return reinterpret_cast<std::uintptr_t>(data) % 64 == 0 && row_bytes % 64 == 0 && rows * row_bytes > streamed_bytes;
}

}  // namespace

template <typename T>
void reduce_shared(const GspmmArguments<T>& arguments) {
  const mp::SharedRows& plan = *arguments.shared;
  const std::int64_t width = arguments.results.width;
  const Scratch<T> global(plan.global_lists() * width);
  SharedLists<T> lists{.plan = plan,
                       .sources = arguments.message.lhs.rows,
                       .global = global.data(),
                       .width = width,
                       .reduce = arguments.reduce,
                       .empty = arguments.results.empty};
  const bool serial = arguments.strategy == Strategy::serial ||
                      (arguments.strategy == Strategy::automatic && plan.cost() * width <= serial_work);
  const auto share_out = [&](std::int64_t count, std::int64_t chunk, const auto& body) {
    parallel_chunks(count, serial ? std::max<std::int64_t>(1, count) : chunk, body);
  };

  for (std::size_t stage = 0; stage + 1 < plan.stages.size(); ++stage) {
    const std::int64_t first = plan.stages[stage];
    share_out(plan.stages[stage + 1] - first, rows_per_chunk(4 * width, 1 << 16),
              [&](std::int64_t begin, std::int64_t end) {
                SharedLists<T> own = lists;
                own.results = global.data() + (first + begin) * width;
                combine(own, first + begin, first + end);
              });
  }
  const bool stream = can_stream(arguments.results.rows, width * static_cast<std::int64_t>(sizeof(T)), plan.rows);
  share_out(plan.num_groups(), 1, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<T> common(plan.most_common * width);
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t first = plan.groups[static_cast<std::size_t>(group)];
      const std::int64_t first_row = first + plan.common_parts(group);
      SharedLists<T> own = lists;
      own.common = own.results = common.data();
      combine(own, first, first_row);
      own.results = arguments.results.rows + plan.first_row(group) * width;
      own.stream = stream;
      if (arguments.reduce == ReduceOp::mean) own.offsets = arguments.edges.offsets + plan.first_row(group);
      combine(own, first_row, plan.groups[static_cast<std::size_t>(group) + 1]);
    }
  });
}

template void reduce_shared(const GspmmArguments<float>&);
template void reduce_shared(const GspmmArguments<double>&);

}  // namespace bough
#endif
