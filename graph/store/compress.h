#pragma once

#include <cstdint>
#include <vector>

#include "bough/graph/ids.h"

namespace bough {

/// Edges grouped by one end, as CompressedView describes.
struct Compressed {
  std::vector<std::int64_t> offsets;
  IdArray indices;
  IdArray edge_ids;  ///< empty where in_edge_order
  bool in_edge_order = false;
};

/// What is known of the order of the edges before they are grouped.
struct EdgeOrder {
  bool sorted = false;         ///< by key, then by other end: nothing has to move
  bool others_sorted = false;  ///< the other ends never descend, so rows need no sorting of their own
};

/// Groups edges by keys (each in 0..num_keys-1), rows sorted by others (in 0..num_others-1), then by edge. The result
/// is a function of the input alone. O(E + num_keys) plus sorting inside rows. Sorted input: shares `others`, no
/// scratch. Otherwise scratch is 2 bytes an edge, 20 bytes for each edge of the buckets in work (one a thread, some
/// 40'000 edges unless E is beyond 20 million or a single node makes one larger), the counters of at most 64 chunks,
/// and at most 6 bytes for each of at most E/8 keys.
Compressed compress(const IdArray& keys, std::int64_t num_keys, const IdArray& others, std::int64_t num_others,
                    EdgeOrder order);

}  // namespace bough
