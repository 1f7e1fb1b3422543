#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "bough/detail/mp/prefetch.h"
#include "kernels/cpu/gspmm.h"
#include "kernels/plan/shared_rows.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gspmm_copies.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/binary_functions-inl.h"
#include "kernels/cpu/copy_lists.h"
#include "kernels/cpu/row_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Rows that are combined into one, and those of the list after it, which are asked for meanwhile.
template <typename T>
struct RowPointers {
  const T** rows;
  std::int64_t count;
  const T** next;
  std::int64_t next_count;
};

/// Combines rows, in order, into one. Vectors are taken by eights, so that the totals stay in registers.
template <class Combine, typename T>
class RowCombiner {
 public:
  RowCombiner(std::int64_t width, T divisor, bool stream) : width_(width), divisor_(divisor), stream_(stream) {}

  HWY_INLINE void run(const RowPointers<T>& from, T* result) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + 8 * lanes <= width_; i += 8 * lanes) eight(from, i, result);
    for (; i + lanes <= width_; i += lanes) one(from, i, simd::Whole{}, result);
    if (i < width_) one(from, i, simd::Part{width_ - i}, result);
  }

 private:
  using V = hn::Vec<hn::ScalableTag<T>>;

  HWY_INLINE void eight(const RowPointers<T>& from, std::int64_t at, T* result) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const Combine combine;
    prefetch(from, 0, at);
    const T* row = from.rows[0] + at;
    V a = hn::LoadU(d, row), b = hn::LoadU(d, row + lanes);
    V c = hn::LoadU(d, row + 2 * lanes), e = hn::LoadU(d, row + 3 * lanes);
    V f = hn::LoadU(d, row + 4 * lanes), g = hn::LoadU(d, row + 5 * lanes);
    V h = hn::LoadU(d, row + 6 * lanes), k = hn::LoadU(d, row + 7 * lanes);
    for (std::int64_t i = 1; i < from.count; ++i) {
      prefetch(from, i, at);
      row = from.rows[i] + at;
      a = combine(d, a, hn::LoadU(d, row));
      b = combine(d, b, hn::LoadU(d, row + lanes));
      c = combine(d, c, hn::LoadU(d, row + 2 * lanes));
      e = combine(d, e, hn::LoadU(d, row + 3 * lanes));
      f = combine(d, f, hn::LoadU(d, row + 4 * lanes));
      g = combine(d, g, hn::LoadU(d, row + 5 * lanes));
      h = combine(d, h, hn::LoadU(d, row + 6 * lanes));
      k = combine(d, k, hn::LoadU(d, row + 7 * lanes));
    }
    for (std::int64_t i = from.count; i < from.next_count; ++i) prefetch(from, i, at);
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
  HWY_INLINE void one(const RowPointers<T>& from, std::int64_t at, Access access, T* result) const {
    const Combine combine;
    V total = access.load(d, from.rows[0] + at, T{0});
    for (std::int64_t i = 1; i < from.count; ++i) total = combine(d, total, access.load(d, from.rows[i] + at, T{0}));
    access.store(finished(total), d, result + at);
  }

  HWY_INLINE void prefetch(const RowPointers<T>& from, std::int64_t i, std::int64_t at) const {
    if (i >= from.next_count) return;
    mp::prefetch_row(from.next[i] + at, static_cast<std::int64_t>(8 * hn::Lanes(d) * sizeof(T)));
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
void combine_lists(const CopyLists<T>& lists, std::int64_t count) {
  std::int64_t longest = 0;
  for (std::int64_t list = 0; list < count; ++list) {
    if (lists.length(list) <= lists.longest) longest = std::max(longest, lists.length(list));
  }
  std::vector<const T*> now(static_cast<std::size_t>(longest)), next(now.size());
  const auto run = [&](auto combine) HWY_ATTR {
    std::int64_t length = lists.resolve(0, now.data());
    for (std::int64_t list = 0; list < count; ++list) {
      const std::int64_t next_length = list + 1 < count ? lists.resolve(list + 1, next.data()) : 0;
      if (length > 0) {
        RowCombiner<decltype(combine), T>(lists.width, lists.divisor(list), lists.stream)
            .run({now.data(), length, next.data(), lists.far ? next_length : 0}, lists.result(list));
      } else if (lists.length(list) == 0) {
        std::fill_n(lists.result(list), lists.width, lists.empty);
      }
      std::swap(now, next);
      length = next_length;
    }
    if (lists.stream) hwy::FlushStream();
  };
  if (count == 0) return;
  switch (lists.reduce) {
    case ReduceOp::max:
      return run(Maximum{});
    case ReduceOp::min:
      return run(Minimum{});
    case ReduceOp::sum:
    case ReduceOp::mean:
      return run(Add{});
    case ReduceOp::prod:  // reduces_copies does not let it come here
      return;
  }
}

void combine_lists_float(const CopyLists<float>& lists, std::int64_t count) { combine_lists(lists, count); }
void combine_lists_double(const CopyLists<double>& lists, std::int64_t count) { combine_lists(lists, count); }

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
void combine(const CopyLists<T>& lists, std::int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(combine_lists_float)(lists, count);
  } else {
    HWY_DYNAMIC_DISPATCH(combine_lists_double)(lists, count);
  }
}

template <typename T>
bool can_stream(const mp::RowResults<T>& results, std::int64_t rows) {
  const std::int64_t row_bytes = results.width * static_cast<std::int64_t>(sizeof(T));
  return reinterpret_cast<std::uintptr_t>(results.rows) % 64 == 0 && row_bytes % 64 == 0 &&
         rows * row_bytes > streamed_bytes;
}

/// What all lists of a call have in common.
template <typename T>
CopyLists<T> lists_of(const GspmmArguments<T>& arguments) {
  return {.rows = arguments.message.lhs.rows,
          .num_rows = std::numeric_limits<std::int64_t>::max(),
          .width = arguments.results.width,
          .stride = arguments.results.width,
          .reduce = arguments.reduce,
          .empty = arguments.results.empty,
          .longest = std::numeric_limits<std::int64_t>::max()};
}

template <typename T>
class SharedReduction {
 public:
  explicit SharedReduction(const GspmmArguments<T>& arguments)
      : arguments_(arguments),
        plan_(*arguments.shared),
        width_(arguments.results.width),
        serial_(arguments.strategy == Strategy::serial ||
                (arguments.strategy == Strategy::automatic && plan_.cost() * width_ <= serial_work)),
        stream_(can_stream(arguments.results, plan_.rows)),
        global_(plan_.global_lists() * width_),
        lists_(lists_of(arguments)) {
    lists_.parts = plan_.parts.data();
    lists_.num_rows = plan_.sources;
    lists_.global = global_.data();
  }

  void run() {
    for (std::size_t stage = 0; stage + 1 < plan_.stages.size(); ++stage) {
      const std::int64_t first = plan_.stages[stage];
      share_out(plan_.stages[stage + 1] - first, rows_per_chunk(4 * width_, 1 << 16),
                [&](std::int64_t begin, std::int64_t end) {
                  combine(lists_from(first + begin, global_.data() + (first + begin) * width_), end - begin);
                });
    }
    share_out(plan_.num_groups(), 1, [&](std::int64_t begin, std::int64_t end) {
      const Scratch<T> common(plan_.most_common * width_);
      for (std::int64_t group = begin; group < end; ++group) reduce_group(group, common.data());
    });
  }

 private:
  template <typename F>
  void share_out(std::int64_t count, std::int64_t chunk, const F& body) const {
    parallel_chunks(count, serial_ ? std::max<std::int64_t>(1, count) : chunk, body);
  }

  CopyLists<T> lists_from(std::int64_t list, T* results) const {
    CopyLists<T> lists = lists_;
    lists.offsets = plan_.offsets.data() + list;
    lists.results = results;
    return lists;
  }

  void reduce_group(std::int64_t group, T* common) const {
    const std::int64_t first = plan_.groups[static_cast<std::size_t>(group)];
    const std::int64_t first_row = first + plan_.common_parts(group);
    CopyLists<T> parts = lists_from(first, common);
    parts.common = common;
    combine(parts, first_row - first);

    CopyLists<T> rows = lists_from(first_row, arguments_.results.row(plan_.first_row(group)).values);
    rows.common = common;
    rows.stream = stream_;
    if (arguments_.reduce == ReduceOp::mean) rows.counts = arguments_.edges.offsets + plan_.first_row(group);
    combine(rows, plan_.groups[static_cast<std::size_t>(group) + 1] - first_row);
  }

  const GspmmArguments<T>& arguments_;
  const mp::SharedRows& plan_;
  std::int64_t width_;
  bool serial_, stream_;
  Scratch<T> global_;
  CopyLists<T> lists_;
};

/// Every row for itself; those with very many edges in splits, for any number of threads.
template <typename T>
class RowByRowReduction {
 public:
  explicit RowByRowReduction(const GspmmArguments<T>& arguments)
      : arguments_(arguments),
        plan_(arguments.plan),
        splits_(plan_.num_splits() * arguments.results.width),
        lists_(lists_of(arguments)) {
    const bool neighbours = arguments.message.lhs.end == mp::End::neighbour;
    lists_.parts = neighbours ? arguments.edges.neighbours : arguments.edges.edge_ids;
    lists_.far = lists_.parts != nullptr;
  }

  void run() const {
    mp::TraversalSchedule schedule = mp::make_traversal_schedule(plan_, *arguments_.message.layout,
                                                                 arguments_.message.result(), arguments_.strategy);
    schedule.split = !plan_.split_rows.empty();
    mp::traverse(plan_, schedule,
                 {.rows = [&](std::int64_t begin, std::int64_t end,
                              const mp::FeatureBlock& block) { reduce_rows(begin, end, block); },
                  .split = [&](const mp::TraversalPlan::SplitRow& split_row, std::int64_t split,
                               const mp::FeatureBlock& block) { reduce_split(split_row, split, block); },
                  .merge = [&](const mp::TraversalPlan::SplitRow& split_row,
                               const mp::FeatureBlock& block) { merge_splits(split_row, block); }});
  }

 private:
  void reduce_rows(std::int64_t begin, std::int64_t end, const mp::FeatureBlock& block) const {
    CopyLists<T> lists = lists_;
    lists.offsets = arguments_.edges.offsets + begin;
    lists.longest = mp::TraversalPlan::split_edges;
    lists.results = arguments_.results.row(begin).values;
    lists.stream = can_stream(arguments_.results, plan_.rows);
    combine_block(lists, begin, end - begin, block);
  }

  void reduce_split(const mp::TraversalPlan::SplitRow& split_row, std::int64_t split,
                    const mp::FeatureBlock& block) const {
    constexpr std::int64_t most = mp::TraversalPlan::split_edges;
    const std::int64_t begin = arguments_.edges.offsets[split_row.row] + (split - split_row.first_split) * most;
    const std::int64_t offsets[] = {begin, std::min(begin + most, arguments_.edges.offsets[split_row.row + 1])};
    CopyLists<T> list = lists_;
    list.offsets = offsets;
    list.results = splits_.data() + split * list.stride;
    combine_block(list, not_final, 1, block);
  }

  void merge_splits(const mp::TraversalPlan::SplitRow& split_row, const mp::FeatureBlock& block) const {
    const std::int64_t offsets[] = {split_row.first_split, split_row.first_split + split_row.num_splits};
    CopyLists<T> list = lists_;
    list.offsets = offsets;
    list.parts = nullptr;
    list.rows = splits_.data();
    list.results = arguments_.results.row(split_row.row).values;
    combine_block(list, split_row.row, 1, block);
  }

  /// As the first row of results that are parts of one.
  static constexpr std::int64_t not_final = -1;

  void combine_block(CopyLists<T>& lists, std::int64_t first_row, std::int64_t count,
                     const mp::FeatureBlock& block) const {
    if (arguments_.reduce == ReduceOp::mean && first_row != not_final) {
      lists.counts = arguments_.edges.offsets + first_row;
    }
    lists.rows += block.result_begin;
    lists.results += block.result_begin;
    lists.width = block.result_end - block.result_begin;
    combine(lists, count);
  }

  const GspmmArguments<T>& arguments_;
  const mp::TraversalPlan& plan_;
  Scratch<T> splits_;
  CopyLists<T> lists_;
};

}  // namespace

template <typename T>
void reduce_copies(const GspmmArguments<T>& arguments) {
  if (arguments.shared != nullptr) {
    SharedReduction<T>(arguments).run();
  } else {
    RowByRowReduction<T>(arguments).run();
  }
}

template void reduce_copies(const GspmmArguments<float>&);
template void reduce_copies(const GspmmArguments<double>&);

}  // namespace bough
#endif
