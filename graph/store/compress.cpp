#include "graph/store/compress.h"

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "bough/core/parallel.h"

namespace bough {
namespace {

/// About as many edges as a bucket should have: 8 bytes each, they stay in the second-level cache.
constexpr std::int64_t bucket_edges = 32768;
/// More buckets than this and the scatter into them misses the TLB at every write.
constexpr std::int64_t max_buckets = 1024;
/// The low part of a key is kept in 16 bits.
constexpr int max_shift = 16;
constexpr std::int64_t sorted_scan_chunk = 1 << 18;
constexpr std::ptrdiff_t parallel_row = 1 << 17;

/// The other end and the edge id as one number: sorting these sorts by other end, then by edge, without ties.
constexpr std::uint64_t pack(std::int32_t other, std::int32_t edge) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(other)) << 32) | static_cast<std::uint32_t>(edge);
}

void sort_row(std::uint64_t* begin, std::uint64_t* end) {
  if (std::is_sorted(begin, end)) return;
  if (end - begin < parallel_row) {
    std::sort(begin, end);
  } else {
    oneapi::tbb::parallel_sort(begin, end);
  }
}

/// Row starts of keys that never descend.
std::vector<std::int64_t> offsets_of_sorted(std::span<const std::int32_t> keys, std::int64_t num_keys) {
  const auto count = static_cast<std::int64_t>(keys.size());
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(num_keys) + 1);
  if (count == 0) return offsets;
  std::int64_t* starts = offsets.data();
  const std::int32_t* key = keys.data();
  // Edge e starts the rows after that of edge e-1 up to its own, so each entry is written by exactly one piece.
  parallel_chunks(count, sorted_scan_chunk, [=](std::int64_t begin, std::int64_t end) {
    std::int32_t previous = begin == 0 ? -1 : key[begin - 1];
    for (std::int64_t edge = begin; edge < end; ++edge) {
      for (; previous < key[edge]; ++previous) starts[previous + 1] = edge;
    }
  });
  std::fill(starts + key[count - 1] + 1, starts + num_keys + 1, count);
  return offsets;
}

/// One consecutive range of rows and where its edges lie.
struct Bucket {
  std::int64_t first_key;
  std::int64_t num_keys;
  std::int64_t begin;
  std::int64_t count;
};

/// Sorts the edges of one bucket. key_at(i) is relative to first_key, entry_at(i) the packed edge, both for i < count
/// in edge order; offsets, indices and edge_ids are those of the whole result.
template <typename KeyAt, typename EntryAt>
void sort_bucket(const Bucket& bucket, KeyAt key_at, EntryAt entry_at, bool others_sorted, std::int64_t* offsets,
                 std::int32_t* indices, std::int32_t* edge_ids) {
  // The row starts serve as counters first and as write positions next; at the end they have moved one row on.
  std::int64_t* starts = offsets + bucket.first_key;
  std::fill_n(starts, bucket.num_keys, 0);
  for (std::int64_t i = 0; i < bucket.count; ++i) ++starts[key_at(i)];
  std::int64_t next = 0;
  for (std::int64_t key = 0; key < bucket.num_keys; ++key) next += std::exchange(starts[key], next);

  const auto entries = std::make_unique_for_overwrite<std::uint64_t[]>(static_cast<std::size_t>(bucket.count));
  for (std::int64_t i = 0; i < bucket.count; ++i) entries[starts[key_at(i)]++] = entry_at(i);

  std::int64_t row_begin = 0;
  for (std::int64_t key = 0; key < bucket.num_keys; ++key) {
    const std::int64_t row_end = std::exchange(starts[key], bucket.begin + row_begin);
    if (!others_sorted && row_end - row_begin > 1)
      sort_row(&entries[row_begin], &entries[row_begin] + (row_end - row_begin));
    row_begin = row_end;
  }
  for (std::int64_t i = 0; i < bucket.count; ++i) {
    indices[bucket.begin + i] = static_cast<std::int32_t>(entries[i] >> 32);
    edge_ids[bucket.begin + i] = static_cast<std::int32_t>(entries[i] & 0xffffffffu);
  }
}

/// How many low bits of a key lie inside a bucket.
int bucket_shift(std::int64_t num_edges, std::int64_t num_keys) {
  const std::int64_t buckets = std::clamp<std::int64_t>(num_edges / bucket_edges, 1, max_buckets);
  const auto keys_per_bucket = static_cast<std::uint64_t>(num_chunks(num_keys, buckets));
  return std::min(max_shift, static_cast<int>(std::bit_width(keys_per_bucket - 1)));
}

}  // namespace

Compressed compress(const IdArray& keys, const IdArray& others, std::int64_t num_keys, EdgeOrder order) {
  if (order.sorted) return {offsets_of_sorted(keys.span(), num_keys), others, {}, true};

  const std::int64_t num_edges = keys.size();
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(num_keys) + 1);
  offsets.back() = num_edges;
  IdBuffer indices(num_edges);
  IdBuffer edge_ids(num_edges);
  const std::int32_t* key = keys.span().data();
  const std::int32_t* other = others.span().data();

  if (num_edges < 2 * bucket_edges) {
    sort_bucket(
        {0, num_keys, 0, num_edges}, [=](std::int64_t i) { return key[i]; },
        [=](std::int64_t i) { return pack(other[i], static_cast<std::int32_t>(i)); }, order.others_sorted,
        offsets.data(), indices.data(), edge_ids.data());
    return {std::move(offsets), std::move(indices), std::move(edge_ids), false};
  }

  const int shift = bucket_shift(num_edges, num_keys);
  const std::int64_t num_buckets = ((num_keys - 1) >> shift) + 1;
  const std::int64_t piece = std::max<std::int64_t>(bucket_edges, num_chunks(num_edges, 64));
  const std::int64_t pieces = num_chunks(num_edges, piece);

  // positions[p][b]: how many edges of bucket b lie in piece p, then where the first of them goes.
  std::vector<std::int64_t> positions(static_cast<std::size_t>(pieces * num_buckets));
  parallel_chunks(num_edges, piece, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* counts = positions.data() + begin / piece * num_buckets;
    for (std::int64_t edge = begin; edge < end; ++edge) ++counts[key[edge] >> shift];
  });
  std::vector<std::int64_t> bucket_begin(static_cast<std::size_t>(num_buckets) + 1);
  std::int64_t next = 0;
  for (std::int64_t bucket = 0; bucket < num_buckets; ++bucket) {
    bucket_begin[static_cast<std::size_t>(bucket)] = next;
    for (std::int64_t p = 0; p < pieces; ++p) {
      next += std::exchange(positions[static_cast<std::size_t>(p * num_buckets + bucket)], next);
    }
  }
  bucket_begin.back() = next;

  const auto low_keys = std::make_unique_for_overwrite<std::uint16_t[]>(static_cast<std::size_t>(num_edges));
  parallel_chunks(num_edges, piece, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t* to = positions.data() + begin / piece * num_buckets;
    for (std::int64_t edge = begin; edge < end; ++edge) {
      const std::int64_t position = to[key[edge] >> shift]++;
      low_keys[position] = static_cast<std::uint16_t>(key[edge] & ((1 << shift) - 1));
      indices.data()[position] = other[edge];
      edge_ids.data()[position] = static_cast<std::int32_t>(edge);
    }
  });

  parallel_chunks(num_buckets, 1, [&](std::int64_t index, std::int64_t) {
    const std::int64_t first_key = index << shift;
    const std::int64_t begin = bucket_begin[static_cast<std::size_t>(index)];
    const Bucket bucket{first_key, std::min(num_keys - first_key, std::int64_t{1} << shift), begin,
                        bucket_begin[static_cast<std::size_t>(index) + 1] - begin};
    const std::uint16_t* low = low_keys.get() + begin;
    const std::int32_t* placed = indices.data() + begin;
    const std::int32_t* edge = edge_ids.data() + begin;
    sort_bucket(
        bucket, [=](std::int64_t i) { return low[i]; }, [=](std::int64_t i) { return pack(placed[i], edge[i]); },
        order.others_sorted, offsets.data(), indices.data(), edge_ids.data());
  });
  return {std::move(offsets), std::move(indices), std::move(edge_ids), false};
}

}  // namespace bough
