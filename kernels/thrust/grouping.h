#pragma once

#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

#include <bit>
#include <cstdint>

#include "bough/detail/host_device.h"
#include "kernels/thrust/primitives.h"

/// The formats of a graph from its edges, by sorting: on a GPU, or in tests on the host.
namespace bough::parallel {

/// Edges grouped by row, as in CompressedView; all arrays are the caller's.
struct CompressedArrays {
  std::int64_t* offsets = nullptr;   ///< rows + 1
  std::int32_t* indices = nullptr;   ///< edges: the other end
  std::int32_t* edge_ids = nullptr;  ///< edges
};

/// Of numbers from 0 to count - 1; at least one.
inline int bits_for(std::int64_t count) {
  return count <= 2 ? 1 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1)));
}

/// Row and neighbour as one number with no more bits than it needs: sorting by it sorts by row, then by neighbour, and
/// a radix sort takes time by the bit.
struct EndPacking {
  int neighbour_bits = 0;

  BOUGH_HOST_DEVICE std::int64_t operator()(std::int32_t row, std::int32_t neighbour) const {
    return static_cast<std::int64_t>(row) << neighbour_bits | static_cast<std::int64_t>(neighbour);
  }
};
struct UnpackNeighbour {
  int neighbour_bits = 0;

  BOUGH_HOST_DEVICE std::int32_t operator()(std::int64_t key) const {
    return static_cast<std::int32_t>(key & ((std::int64_t{1} << neighbour_bits) - 1));
  }
};
struct FirstKeyOfRow {
  int neighbour_bits = 0;

  BOUGH_HOST_DEVICE std::int64_t operator()(std::int64_t row) const { return row << neighbour_bits; }
};

/// offsets [num_rows + 1]: where among sorted keys each row begins.
template <Primitives Place>
void find_rows(Place& place, const std::int64_t* sorted, std::int64_t count, int neighbour_bits, std::int64_t num_rows,
               std::int64_t* offsets) {
  const auto first_keys =
      thrust::make_transform_iterator(thrust::make_counting_iterator<std::int64_t>(0), FirstKeyOfRow{neighbour_bits});
  thrust::lower_bound(place.policy(), sorted, sorted + count, first_keys, first_keys + (num_rows + 1), offsets);
}

/// Edges of equal ends keep their order. O(edges).
template <Primitives Place>
void compress(Place& place, const std::int32_t* rows, const std::int32_t* neighbours, std::int64_t edges,
              std::int64_t num_rows, std::int64_t num_neighbours, const CompressedArrays& result) {
  const auto keys = place.template scratch<std::int64_t>(edges), sorted = place.template scratch<std::int64_t>(edges);
  const auto ids = place.template scratch<std::int32_t>(edges);
  const int low = bits_for(num_neighbours);
  thrust::transform(place.policy(), rows, rows + edges, neighbours, keys.data(), EndPacking{low});
  thrust::sequence(place.policy(), ids.data(), ids.data() + edges);
  place.sort_pairs(keys.data(), sorted.data(), ids.data(), result.edge_ids, edges, low + bits_for(num_rows));
  thrust::transform(place.policy(), sorted.data(), sorted.data() + edges, result.indices, UnpackNeighbour{low});
  find_rows(place, sorted.data(), edges, low, num_rows, result.offsets);
}

/// order = the positions of an index sorted by row, those of one row in their order; offsets [num_rows + 1] says where
/// each row begins. Sums of rows by an index are then reductions of segments. Index: int32 and int64, sorted as the
/// latter, because code that sorts takes long to compile.
template <Primitives Place, typename Index>
void group_rows(Place& place, const Index* index, std::int64_t count, std::int64_t num_rows, std::int32_t* order,
                std::int64_t* offsets) {
  const auto keys = place.template scratch<std::int64_t>(count), sorted = place.template scratch<std::int64_t>(count);
  const auto positions = place.template scratch<std::int32_t>(count);
  thrust::copy(place.policy(), index, index + count, keys.data());
  thrust::sequence(place.policy(), positions.data(), positions.data() + count);
  place.sort_pairs(keys.data(), sorted.data(), positions.data(), order, count, bits_for(num_rows));
  find_rows(place, sorted.data(), count, 0, num_rows, offsets);
}

}  // namespace bough::parallel
