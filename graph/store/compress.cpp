#include "graph/store/compress.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "bough/core/parallel.h"

namespace bough {
namespace {

/// About as many edges as a bucket should have, so that they stay in the second-level cache.
constexpr std::int64_t bucket_edges = 40'000;
/// More buckets than this and the scatter into them misses the TLB at every write.
constexpr std::int64_t max_buckets = 512;
/// The low part of a key is kept in 16 bits.
constexpr int max_shift = 16;
/// A task sorts several buckets one after the other in the same scratch memory, but there are this many if possible.
constexpr std::int64_t sorting_tasks = 64;
/// Every so manieth edge is looked at to see whether buckets of equally many keys would be equally full; a prime, so as
/// not to meet the same place of every row.
constexpr std::size_t sample_stride = 17;
/// Balanced buckets need a table of 2 bytes a key; it must stay small beside the edges.
constexpr std::int64_t edges_per_key_of_table = 8;
constexpr std::int64_t sorted_scan_chunk = 1 << 18;
constexpr std::int64_t insertion_row = 64;
constexpr std::int64_t long_row = 1 << 16;

/// The other end and the edge id as one number: sorting these sorts by other end, then by edge, without ties.
constexpr std::uint64_t pack(std::int32_t other, std::int32_t edge) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(other)) << 32) | static_cast<std::uint32_t>(edge);
}
constexpr std::int32_t other_of(std::uint64_t entry) { return static_cast<std::int32_t>(entry >> 32); }
constexpr std::int32_t edge_of(std::uint64_t entry) { return static_cast<std::int32_t>(entry & 0xffffffffu); }

/// Sorts chunks in parallel and merges them two by two.
void sort_long_row(std::uint64_t* row, std::int64_t count) {
  parallel_chunks(count, long_row, [=](std::int64_t begin, std::int64_t end) { std::sort(row + begin, row + end); });
  for (std::int64_t sorted = long_row; sorted < count; sorted *= 2) {
    parallel_chunks(count, 2 * sorted, [=](std::int64_t begin, std::int64_t end) {
      if (begin + sorted < end) std::inplace_merge(row + begin, row + begin + sorted, row + end);
    });
  }
}

void sort_row(std::uint64_t* row, std::int64_t count) {
  if (count <= insertion_row) {
    for (std::int64_t i = 1; i < count; ++i) {
      const std::uint64_t entry = row[i];
      std::int64_t hole = i;
      for (; hole > 0 && row[hole - 1] > entry; --hole) row[hole] = row[hole - 1];
      row[hole] = entry;
    }
  } else if (!std::is_sorted(row, row + count)) {
    sort_long_row(row, count);
  }
}

/// Row starts of keys that never descend.
std::vector<std::int64_t> offsets_of_sorted(std::span<const std::int32_t> keys, std::int64_t num_keys) {
  const auto count = static_cast<std::int64_t>(keys.size());
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(num_keys) + 1);
  if (count == 0) return offsets;
  std::int64_t* starts = offsets.data();
  const std::int32_t* key = keys.data();
  // Edge e starts the rows after that of edge e-1 up to its own, so each entry is written by exactly one chunk.
  parallel_chunks(count, sorted_scan_chunk, [=](std::int64_t begin, std::int64_t end) {
    std::int32_t previous = begin == 0 ? -1 : key[begin - 1];
    for (std::int64_t edge = begin; edge < end; ++edge) {
      for (; previous < key[edge]; ++previous) starts[previous + 1] = edge;
    }
  });
  std::fill(starts + key[count - 1] + 1, starts + num_keys + 1, count);
  return offsets;
}

/// Memory that grows to the largest size asked for; contents are lost.
template <typename T>
class Scratch {
 public:
  T* room(std::int64_t count) {
    if (count > capacity_) {
      data_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
      capacity_ = count;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<T[]> data_;
  std::int64_t capacity_ = 0;
};

/// One consecutive range of rows and where its edges lie.
struct Bucket {
  std::int64_t first_key;
  std::int64_t num_keys;
  std::int64_t begin;
  std::int64_t count;
};

/// The arrays of the result, written bucket by bucket.
struct Output {
  std::int64_t* offsets;
  std::int32_t* indices;
  std::int32_t* edge_ids;
};

class BucketSorter {
 public:
  BucketSorter(Output output, std::int64_t num_others, bool others_sorted)
      : output_(output),
        others_sorted_(others_sorted),
        digit_shift_(
            std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(num_others))) - digit_bits)) {}

  /// key_at(i) is relative to the bucket's first key, entry_at(i) the packed edge, both for i < count in edge order.
  template <typename KeyAt, typename EntryAt>
  void sort(const Bucket& bucket, KeyAt key_at, EntryAt entry_at) {
    if (others_sorted_ || bucket.count < min_rough || bucket.count > max_rough) {
      place_in_rows(bucket, key_at, entry_at);
    } else {
      // Short rows picked from edges in rough order of their other ends come out nearly sorted, which is quickly
      // mended.
      order_roughly(bucket.count, key_at, entry_at);
      const std::int32_t* keys = rough_keys_.room(bucket.count);
      const std::uint64_t* entries = rough_entries_.room(bucket.count);
      place_in_rows(
          bucket, [=](std::int64_t i) { return keys[i]; }, [=](std::int64_t i) { return entries[i]; });
    }
    const std::uint64_t* entries = entries_.room(bucket.count);
    for (std::int64_t i = 0; i < bucket.count; ++i) {
      output_.indices[bucket.begin + i] = other_of(entries[i]);
      output_.edge_ids[bucket.begin + i] = edge_of(entries[i]);
    }
  }

 private:
  static constexpr int digit_bits = 8;
  static constexpr std::int64_t min_rough = 1024;
  static constexpr std::int64_t max_rough = 1 << 20;

  template <typename KeyAt, typename EntryAt>
  void order_roughly(std::int64_t count, KeyAt key_at, EntryAt entry_at) {
    std::array<std::int64_t, (1 << digit_bits)> to{};
    for (std::int64_t i = 0; i < count; ++i) ++to[digit(entry_at(i))];
    std::int64_t next = 0;
    for (std::int64_t& position : to) next += std::exchange(position, next);
    std::int32_t* keys = rough_keys_.room(count);
    std::uint64_t* entries = rough_entries_.room(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t entry = entry_at(i);
      const std::int64_t position = to[digit(entry)]++;
      keys[position] = key_at(i);
      entries[position] = entry;
    }
  }

  std::size_t digit(std::uint64_t entry) const { return static_cast<std::size_t>(other_of(entry) >> digit_shift_); }

  template <typename KeyAt, typename EntryAt>
  void place_in_rows(const Bucket& bucket, KeyAt key_at, EntryAt entry_at) {
    // The row starts serve as counters first and as write positions next; at the end they have moved one row on.
    std::int64_t* starts = output_.offsets + bucket.first_key;
    std::fill_n(starts, bucket.num_keys, 0);
    for (std::int64_t i = 0; i < bucket.count; ++i) ++starts[key_at(i)];
    std::int64_t next = 0;
    for (std::int64_t key = 0; key < bucket.num_keys; ++key) next += std::exchange(starts[key], next);

    std::uint64_t* entries = entries_.room(bucket.count);
    for (std::int64_t i = 0; i < bucket.count; ++i) entries[starts[key_at(i)]++] = entry_at(i);

    std::int64_t row_begin = 0;
    for (std::int64_t key = 0; key < bucket.num_keys; ++key) {
      const std::int64_t row_end = std::exchange(starts[key], bucket.begin + row_begin);
      if (!others_sorted_) sort_row(entries + row_begin, row_end - row_begin);
      row_begin = row_end;
    }
  }

  Output output_;
  bool others_sorted_;
  int digit_shift_;
  Scratch<std::uint64_t> entries_;
  Scratch<std::uint64_t> rough_entries_;
  Scratch<std::int32_t> rough_keys_;
};

/// Buckets of equally many keys each.
struct EvenBuckets {
  int shift;
  std::int64_t count;

  EvenBuckets(std::int64_t num_edges, std::int64_t num_keys) {
    const std::int64_t wanted = std::clamp<std::int64_t>(num_edges / bucket_edges, 1, max_buckets);
    const auto keys_per_bucket = static_cast<std::uint64_t>(num_chunks(num_keys, wanted));
    shift = std::min(max_shift, static_cast<int>(std::bit_width(keys_per_bucket - 1)));
    count = ((num_keys - 1) >> shift) + 1;
  }

  std::int64_t of(std::int32_t key) const { return key >> shift; }
  std::int64_t first_key(std::int64_t bucket) const { return bucket << shift; }
};

/// Buckets of about equally many edges each, for graphs whose longest rows have neighbouring ids: in a partition graph
/// the few spans at the top would otherwise put half of all edges into one bucket.
struct BalancedBuckets {
  std::vector<std::uint16_t> bucket_of_key;
  std::vector<std::int32_t> first_keys;
  std::int64_t count = 0;

  BalancedBuckets(std::span<const std::int32_t> sampled, std::int64_t target) : bucket_of_key(sampled.size()) {
    std::int64_t filled = 0;
    for (std::size_t key = 0; key < sampled.size(); ++key) {
      const auto id = static_cast<std::int32_t>(key);
      if (first_keys.empty() || filled >= target || (filled > 0 && filled + sampled[key] > 2 * target) ||
          id - first_keys.back() >= (1 << max_shift)) {
        first_keys.push_back(id);
        filled = 0;
      }
      filled += sampled[key];
      bucket_of_key[key] = static_cast<std::uint16_t>(first_keys.size() - 1);
    }
    count = static_cast<std::int64_t>(first_keys.size());
  }

  std::int64_t of(std::int32_t key) const { return bucket_of_key[static_cast<std::size_t>(key)]; }
  std::int64_t first_key(std::int64_t bucket) const { return first_keys[static_cast<std::size_t>(bucket)]; }
};

/// Distributes the edges over buckets of neighbouring keys, in edge order inside each, and sorts these.
template <typename Buckets>
void sort_in_buckets(const Buckets& buckets, std::span<const std::int32_t> keys, std::int64_t num_keys,
                     std::span<const std::int32_t> others, std::int64_t num_others, bool others_sorted, Output output) {
  const auto num_edges = static_cast<std::int64_t>(keys.size());
  const std::int64_t num_buckets = buckets.count;
  const std::int64_t chunk = std::max<std::int64_t>(bucket_edges, num_chunks(num_edges, 64));
  const std::int64_t chunks = num_chunks(num_edges, chunk);
  const std::int32_t* key = keys.data();
  const std::int32_t* other = others.data();

  // positions[p][b]: how many edges of bucket b lie in chunk p, then where the first of them goes.
  std::vector<std::int64_t> positions(static_cast<std::size_t>(chunks * num_buckets));
  parallel_chunks(num_edges, chunk, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* counts = positions.data() + begin / chunk * num_buckets;
    for (std::int64_t edge = begin; edge < end; ++edge) ++counts[buckets.of(key[edge])];
  });
  std::vector<std::int64_t> bucket_begin(static_cast<std::size_t>(num_buckets) + 1);
  std::int64_t next = 0;
  for (std::int64_t bucket = 0; bucket < num_buckets; ++bucket) {
    bucket_begin[static_cast<std::size_t>(bucket)] = next;
    for (std::int64_t p = 0; p < chunks; ++p) {
      next += std::exchange(positions[static_cast<std::size_t>(p * num_buckets + bucket)], next);
    }
  }
  bucket_begin.back() = next;

  const auto low_keys = std::make_unique_for_overwrite<std::uint16_t[]>(static_cast<std::size_t>(num_edges));
  parallel_chunks(num_edges, chunk, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* to = positions.data() + begin / chunk * num_buckets;
    for (std::int64_t edge = begin; edge < end; ++edge) {
      const std::int64_t bucket = buckets.of(key[edge]);
      const std::int64_t position = to[bucket]++;
      low_keys[position] = static_cast<std::uint16_t>(key[edge] - buckets.first_key(bucket));
      output.indices[position] = other[edge];
      output.edge_ids[position] = static_cast<std::int32_t>(edge);
    }
  });

  parallel_chunks(
      num_buckets, num_chunks(num_buckets, sorting_tasks), [&](std::int64_t begin_bucket, std::int64_t end_bucket) {
        BucketSorter sorter(output, num_others, others_sorted);
        for (std::int64_t index = begin_bucket; index < end_bucket; ++index) {
          const std::int64_t first_key = buckets.first_key(index);
          const std::int64_t end_key = index + 1 < num_buckets ? buckets.first_key(index + 1) : num_keys;
          const std::int64_t begin = bucket_begin[static_cast<std::size_t>(index)];
          const Bucket bucket{first_key, end_key - first_key, begin,
                              bucket_begin[static_cast<std::size_t>(index) + 1] - begin};
          const std::uint16_t* low = low_keys.get() + begin;
          const std::int32_t* placed = output.indices + begin;
          const std::int32_t* edge = output.edge_ids + begin;
          sorter.sort(
              bucket, [=](std::int64_t i) { return low[i]; }, [=](std::int64_t i) { return pack(placed[i], edge[i]); });
        }
      });
}

/// Looks at some of the edges and takes even buckets, which are found without a table, unless one would be far too
/// full.
void sort_in_buckets(std::span<const std::int32_t> keys, std::int64_t num_keys, std::span<const std::int32_t> others,
                     std::int64_t num_others, bool others_sorted, Output output) {
  const auto num_edges = static_cast<std::int64_t>(keys.size());
  const EvenBuckets even(num_edges, num_keys);
  const std::int64_t sampled_target =
      std::max(bucket_edges, num_chunks(num_edges, max_buckets)) / static_cast<std::int64_t>(sample_stride);
  if (num_keys <= num_edges / edges_per_key_of_table) {
    std::vector<std::int32_t> sampled(static_cast<std::size_t>(num_keys));
    for (std::size_t edge = 0; edge < keys.size(); edge += sample_stride)
      ++sampled[static_cast<std::size_t>(keys[edge])];
    std::vector<std::int64_t> filled(static_cast<std::size_t>(even.count));
    for (std::size_t key = 0; key < sampled.size(); ++key) {
      filled[static_cast<std::size_t>(even.of(static_cast<std::int32_t>(key)))] += sampled[key];
    }
    if (*std::ranges::max_element(filled) > 4 * sampled_target) {
      const BalancedBuckets balanced(sampled, sampled_target);
      return sort_in_buckets(balanced, keys, num_keys, others, num_others, others_sorted, output);
    }
  }
  sort_in_buckets(even, keys, num_keys, others, num_others, others_sorted, output);
}

}  // namespace

Compressed compress(const IdArray& keys, std::int64_t num_keys, const IdArray& others, std::int64_t num_others,
                    EdgeOrder order) {
  if (order.sorted) return {offsets_of_sorted(keys.span(), num_keys), others, {}, true};

  const std::int64_t num_edges = keys.size();
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(num_keys) + 1);
  offsets.back() = num_edges;
  IdBuffer indices(num_edges);
  IdBuffer edge_ids(num_edges);
  const Output output{offsets.data(), indices.data(), edge_ids.data()};
  if (num_edges < 2 * bucket_edges) {
    const std::int32_t* key = keys.span().data();
    const std::int32_t* other = others.span().data();
    BucketSorter(output, num_others, order.others_sorted)
        .sort(
            {0, num_keys, 0, num_edges}, [=](std::int64_t i) { return key[i]; },
            [=](std::int64_t i) { return pack(other[i], static_cast<std::int32_t>(i)); });
  } else {
    sort_in_buckets(keys.span(), num_keys, others.span(), num_others, order.others_sorted, output);
  }
  return {std::move(offsets), std::move(indices), std::move(edge_ids), false};
}

}  // namespace bough
