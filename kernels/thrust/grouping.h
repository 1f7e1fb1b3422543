#pragma once

#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <cstdint>

#include "bough/core/host_device.h"

/// The formats of a graph from its edges, with Thrust: on a GPU by radix sort, in tests on the host through its TBB
/// backend. The policy says where the memory is.
namespace bough::parallel {

/// Edges grouped by row, as in CompressedView; all arrays are the caller's.
struct CompressedArrays {
  std::int64_t* offsets = nullptr;   ///< rows + 1
  std::int32_t* indices = nullptr;   ///< edges: the other end
  std::int32_t* edge_ids = nullptr;  ///< edges
  std::int64_t* keys = nullptr;      ///< edges: room for sorting
};

/// Row and neighbour as one number, so that sorting by it sorts by row, then by neighbour.
struct PackEnds {
  BOUGH_HOST_DEVICE std::int64_t operator()(std::int32_t row, std::int32_t neighbour) const {
    return static_cast<std::int64_t>(row) << 32 | static_cast<std::uint32_t>(neighbour);
  }
};
struct UnpackNeighbour {
  BOUGH_HOST_DEVICE std::int32_t operator()(std::int64_t key) const { return static_cast<std::int32_t>(key); }
};
struct FirstKeyOfRow {
  BOUGH_HOST_DEVICE std::int64_t operator()(std::int64_t row) const { return row << 32; }
};

/// Edges of equal ends keep their order. O(edges).
template <typename Policy>
void compress(const Policy& policy, const std::int32_t* rows, const std::int32_t* neighbours, std::int64_t edges,
              std::int64_t num_rows, const CompressedArrays& result) {
  thrust::transform(policy, rows, rows + edges, neighbours, result.keys, PackEnds{});
  thrust::sequence(policy, result.edge_ids, result.edge_ids + edges);
  thrust::stable_sort_by_key(policy, result.keys, result.keys + edges, result.edge_ids);
  thrust::transform(policy, result.keys, result.keys + edges, result.indices, UnpackNeighbour{});
  const auto first_keys =
      thrust::make_transform_iterator(thrust::make_counting_iterator<std::int64_t>(0), FirstKeyOfRow{});
  thrust::lower_bound(policy, result.keys, result.keys + edges, first_keys, first_keys + num_rows + 1, result.offsets);
}

/// order = the positions of an index sorted by row, those of one row in their order; offsets [num_rows + 1] says where
/// each row begins. Sums of rows by an index are then reductions of segments. `keys` is room for a copy of the index.
template <typename Policy, typename Index>
void group_rows(const Policy& policy, const Index* index, std::int64_t count, std::int64_t num_rows, Index* keys,
                std::int32_t* order, std::int64_t* offsets) {
  thrust::copy(policy, index, index + count, keys);
  thrust::sequence(policy, order, order + count);
  thrust::stable_sort_by_key(policy, keys, keys + count, order);
  const auto rows = thrust::make_counting_iterator<Index>(0);
  thrust::lower_bound(policy, keys, keys + count, rows, rows + (num_rows + 1), offsets);
}

}  // namespace bough::parallel
