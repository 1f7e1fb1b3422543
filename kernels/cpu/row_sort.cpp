#include "kernels/cpu/row_sort.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "bough/core/parallel.h"

namespace bough {
namespace {

constexpr int most_digit_bits = 11;

/// At most 32 chunks: each has a table of counts of its own.
std::int64_t chunk_of(std::int64_t count) { return std::max<std::int64_t>(1 << 14, (count + 31) / 32); }

/// Bits that hold 0..count-1.
int bits_for(std::int64_t count) {
  return count <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1)));
}

/// One stable pass: moves `from` to `to` in the order of `digit_bits` bits above `shift`.
void sort_by_digit(std::span<const std::int64_t> from, std::span<std::int64_t> to, int shift, int digit_bits) {
  const auto count = static_cast<std::int64_t>(from.size());
  const std::int64_t chunk = chunk_of(count), chunks = num_chunks(count, chunk), digits = std::int64_t{1} << digit_bits;
  const auto digit = [=](std::int64_t entry) { return (entry >> shift) & (digits - 1); };
  // next[number * digits + d]: first how often the chunk has digit d, then where its next one goes.
  const Scratch<std::int64_t> next(chunks * digits);
  std::fill_n(next.data(), next.size(), 0);
  parallel_chunks(count, chunk, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* counts = next.data() + begin / chunk * digits;
    for (std::int64_t i = begin; i < end; ++i) ++counts[digit(from[i])];
  });
  std::int64_t total = 0;
  for (std::int64_t d = 0; d < digits; ++d) {
    for (std::int64_t number = 0; number < chunks; ++number) {
      std::int64_t& place = next[number * digits + d];
      total += std::exchange(place, total);
    }
  }
  parallel_chunks(count, chunk, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* places = next.data() + begin / chunk * digits;
    for (std::int64_t i = begin; i < end; ++i) to[places[digit(from[i])]++] = from[i];
  });
}

}  // namespace

bool can_sort_rows(std::int64_t count, std::int64_t num_rows) { return bits_for(count) + bits_for(num_rows) <= 63; }

template <typename I>
SortedRows sort_rows(Cpu, std::span<const I> index, std::int64_t num_rows) {
  const auto count = static_cast<std::int64_t>(index.size());
  const int position_bits = bits_for(count), row_bits = bits_for(num_rows);
  Scratch<std::int64_t> memory(count);
  std::atomic<bool> sorted = true;
  parallel_chunks(count, chunk_of(count), [&](std::int64_t begin, std::int64_t end) {
    I before = index[std::max<std::int64_t>(begin - 1, 0)];
    bool ascending = true;
    for (std::int64_t i = begin; i < end; ++i) {
      ascending &= before <= index[i];
      before = index[i];
      memory[i] = static_cast<std::int64_t>(before) << position_bits | i;
    }
    if (!ascending) sorted = false;
  });
  if (!sorted) {
    const int passes = (row_bits + most_digit_bits - 1) / most_digit_bits;
    const int digit_bits = (row_bits + passes - 1) / passes;
    Scratch<std::int64_t> other(count);
    for (int pass = 0; pass < passes; ++pass) {
      sort_by_digit({memory.data(), index.size()}, {other.data(), index.size()}, position_bits + pass * digit_bits,
                    digit_bits);
      std::swap(memory, other);
    }
  }
  const std::span entries(memory.data(), index.size());
  return {std::move(memory), entries, position_bits};
}

void drop_row(Cpu, SortedRows& sorted, std::int64_t row) {
  std::span<std::int64_t>& entries = sorted.entries;
  const auto row_of = [bits = sorted.position_bits](std::int64_t entry) { return entry >> bits; };
  const auto gone = std::ranges::equal_range(entries, row, {}, row_of);
  const auto kept = std::ranges::copy(gone.end(), entries.end(), gone.begin()).out;
  entries = entries.first(static_cast<std::size_t>(kept - entries.begin()));
}

std::int64_t compact_rows(Cpu, SortedRows& sorted, std::span<std::int64_t> rows) {
  const std::int64_t position_mask = (std::int64_t{1} << sorted.position_bits) - 1;
  std::int64_t number = -1, current = -1;
  for (std::int64_t& entry : sorted.entries) {
    const std::int64_t row = entry >> sorted.position_bits;
    if (row != current) {
      current = row;
      rows[++number] = row;
    }
    entry = number << sorted.position_bits | (entry & position_mask);
  }
  return number + 1;
}

template SortedRows sort_rows(Cpu, std::span<const std::int32_t>, std::int64_t);
template SortedRows sort_rows(Cpu, std::span<const std::int64_t>, std::int64_t);

}  // namespace bough
