#include "kernels/cpu/rows.h"

#include <algorithm>
#include <cstring>

#include "bough/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// target = values[begin] + ... + values[end-1] in the order of `sorted`, kept in registers column block by column
/// block.
template <typename T>
void sum_entries(const SortedRows& sorted, std::int64_t begin, std::int64_t end, Rows<const T> values, T* target) {
  const std::int64_t width = values.width;
  if (begin == end) {
    std::memset(target, 0, static_cast<std::size_t>(width) * sizeof(T));
    return;
  }
  const T* first = values[sorted.position(begin)];
  if (begin + 1 == end) {
    std::memcpy(target, first, static_cast<std::size_t>(width) * sizeof(T));
    return;
  }
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t column = 0;
  for (; column + 4 * lanes <= width; column += 4 * lanes) {
    auto a = hn::LoadU(d, first + column), b = hn::LoadU(d, first + column + lanes);
    auto c = hn::LoadU(d, first + column + 2 * lanes), e = hn::LoadU(d, first + column + 3 * lanes);
    for (std::int64_t i = begin + 1; i < end; ++i) {
      const T* value = values[sorted.position(i)] + column;
      a = hn::Add(a, hn::LoadU(d, value));
      b = hn::Add(b, hn::LoadU(d, value + lanes));
      c = hn::Add(c, hn::LoadU(d, value + 2 * lanes));
      e = hn::Add(e, hn::LoadU(d, value + 3 * lanes));
    }
    hn::StoreU(a, d, target + column);
    hn::StoreU(b, d, target + column + lanes);
    hn::StoreU(c, d, target + column + 2 * lanes);
    hn::StoreU(e, d, target + column + 3 * lanes);
  }
  for (; column + lanes <= width; column += lanes) {
    auto sum = hn::LoadU(d, first + column);
    for (std::int64_t i = begin + 1; i < end; ++i) {
      sum = hn::Add(sum, hn::LoadU(d, values[sorted.position(i)] + column));
    }
    hn::StoreU(sum, d, target + column);
  }
  for (; column < width; ++column) {
    T sum = first[column];
    for (std::int64_t i = begin + 1; i < end; ++i) sum += values[sorted.position(i)][column];
    target[column] = sum;
  }
}

/// Where a chunk begins: the rows and entries that lie before it.
struct Split {
  std::int64_t row;
  std::int64_t entry;
};

/// Merges rows and entries into one sequence, each row standing after its entries, and finds its place `before`.
inline Split split_at(const SortedRows& sorted, std::int64_t num_rows, std::int64_t before) {
  std::int64_t low = std::max<std::int64_t>(0, before - sorted.size()), high = std::min(num_rows, before);
  while (low < high) {
    const std::int64_t row = low + (high - low) / 2;
    if (sorted.row(before - row - 1) > row) {
      low = row + 1;
    } else {
      high = row;
    }
  }
  return {low, before - low};
}

/// Sums the rows that end in places begin..end-1 of that sequence; returns the row that goes on after it, or -1.
template <typename T>
std::int64_t sum_chunk(const SortedRows& sorted, std::int64_t begin, std::int64_t end, Rows<const T> values,
                       Rows<T> target, T* carry) {
  const Split from = split_at(sorted, target.count, begin), to = split_at(sorted, target.count, end);
  std::int64_t entry = from.entry;
  for (std::int64_t row = from.row; row < to.row; ++row) {
    const std::int64_t first = entry;
    while (entry < to.entry && sorted.row(entry) == row) ++entry;
    sum_entries(sorted, first, entry, values, target[row]);
  }
  if (entry == to.entry) return -1;
  sum_entries(sorted, entry, to.entry, values, carry);
  return to.row;
}

template <typename T>
void add_row(const T* source, T* target, std::int64_t width) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, target + i), hn::LoadU(d, source + i)), d, target + i);
  }
  for (; i < width; ++i) target[i] += source[i];
}

/// The chunks hold equal shares of rows and entries together, so neither a row with most of the entries nor a long
/// stretch without any keeps one thread busy alone. A row that goes on into the next chunk leaves what it has in
/// `carries`; these are added at the end, in order.
template <typename T>
void sum_rows_in_chunks(const SortedRows& sorted, Rows<const T> values, Rows<T> target) {
  const std::int64_t work = sorted.size() + target.count, width = target.width;
  const std::int64_t chunk = std::max<std::int64_t>(16, rows_per_chunk(width)), chunks = num_chunks(work, chunk);
  const Scratch<std::int64_t> carry_rows(chunks);
  const Scratch<T> carries(chunks * width);
  parallel_chunks(work, chunk, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t number = begin / chunk;
    carry_rows[number] = sum_chunk(sorted, begin, end, values, target, carries.data() + number * width);
  });
  for (std::int64_t number = 0; number < chunks; ++number) {
    if (carry_rows[number] >= 0) add_row(carries.data() + number * width, target[carry_rows[number]], width);
  }
}

}  // namespace

void sum_rows_float(const SortedRows& sorted, Rows<const float> values, Rows<float> target) {
  sum_rows_in_chunks(sorted, values, target);
}
void sum_rows_double(const SortedRows& sorted, Rows<const double> values, Rows<double> target) {
  sum_rows_in_chunks(sorted, values, target);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {
namespace {

/// Copies rows whose size the compiler knows: a handful of instructions instead of a call.
template <std::size_t bytes, typename I>
void gather_small_rows(const std::byte* source, const I* index, std::byte* target, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * bytes, source + static_cast<std::int64_t>(index[i]) * bytes, bytes);
  }
}

template <typename I>
void gather_wide_rows(Rows<const std::byte> source, const I* index, std::byte* target, std::int64_t count) {
  constexpr std::int64_t ahead = 4;
  for (std::int64_t i = 0; i < count; ++i) {
    // The processor cannot guess the next row, but the index knows it.
    if (i + ahead < count) __builtin_prefetch(source[index[i + ahead]]);
    std::memcpy(target + i * source.width, source[index[i]], static_cast<std::size_t>(source.width));
  }
}

}  // namespace

template <typename I>
void gather_rows(Cpu, Rows<const std::byte> source, std::span<const I> index, Rows<std::byte> target) {
  parallel_chunks(target.count, rows_per_chunk(target.width, 1 << 17), [&](std::int64_t begin, std::int64_t end) {
    const I* entries = index.data() + begin;
    std::byte* out = target[begin];
    switch (target.width) {
      case 1:
        return gather_small_rows<1>(source.data, entries, out, end - begin);
      case 4:
        return gather_small_rows<4>(source.data, entries, out, end - begin);
      case 8:
        return gather_small_rows<8>(source.data, entries, out, end - begin);
      case 16:
        return gather_small_rows<16>(source.data, entries, out, end - begin);
      case 32:
        return gather_small_rows<32>(source.data, entries, out, end - begin);
      default:
        return gather_wide_rows(source, entries, out, end - begin);
    }
  });
}

template <typename T, typename I>
void add_narrow_rows(Cpu, std::span<const I> index, std::optional<std::int64_t> skipped, Rows<const T> values,
                     Rows<T> target) {
  const Scratch<double> sums(target.elements());
  std::fill_n(sums.data(), sums.size(), 0.0);
  const std::int64_t width = target.width, without = skipped.value_or(-1);
  const T* value = values.data;
  for (const I row : index) {
    if (row != without) {
      double* sum = sums.data() + static_cast<std::int64_t>(row) * width;
      for (std::int64_t column = 0; column < width; ++column) sum[column] += value[column];
    }
    value += width;
  }
  std::copy_n(sums.data(), sums.size(), target.data);
}

HWY_EXPORT(sum_rows_float);
HWY_EXPORT(sum_rows_double);

template <>
void sum_rows(Cpu, const SortedRows& sorted, Rows<const float> values, Rows<float> target) {
  HWY_DYNAMIC_DISPATCH(sum_rows_float)(sorted, values, target);
}
template <>
void sum_rows(Cpu, const SortedRows& sorted, Rows<const double> values, Rows<double> target) {
  HWY_DYNAMIC_DISPATCH(sum_rows_double)(sorted, values, target);
}

template void add_narrow_rows(Cpu, std::span<const std::int32_t>, std::optional<std::int64_t>, Rows<const float>,
                              Rows<float>);
template void add_narrow_rows(Cpu, std::span<const std::int64_t>, std::optional<std::int64_t>, Rows<const float>,
                              Rows<float>);
template void add_narrow_rows(Cpu, std::span<const std::int32_t>, std::optional<std::int64_t>, Rows<const double>,
                              Rows<double>);
template void add_narrow_rows(Cpu, std::span<const std::int64_t>, std::optional<std::int64_t>, Rows<const double>,
                              Rows<double>);
template void gather_rows(Cpu, Rows<const std::byte>, std::span<const std::int32_t>, Rows<std::byte>);
template void gather_rows(Cpu, Rows<const std::byte>, std::span<const std::int64_t>, Rows<std::byte>);

}  // namespace bough
#endif
