#pragma once

#include <cstdint>

#include "kernels/cpu/gemm.h"

namespace bough {

/// The block of c whose sums are held in registers; a property of the instruction set in use.
struct RegisterTile {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <typename T>
RegisterTile register_tile();

/// No instruction set has more rows in a tile than this.
constexpr std::int64_t max_tile_rows = 14;

/// The most products that are summed in registers before the sum goes to memory: more means fewer passes over c, but
/// what is packed of b no longer fits in the second-level cache.
template <typename T>
constexpr std::int64_t max_depth = 2048 / static_cast<std::int64_t>(sizeof(T));

/// How a tile's rows of a are packed: along the inner axis where a is contiguous along it, else side by side, so that
/// packing moves runs either way.
enum class PackOrder { along_inner, across_rows };

template <typename T>
PackOrder pack_order(const Matrix<const T>& a) {
  return a.column_stride == 1 ? PackOrder::along_inner : PackOrder::across_rows;
}

/// Along the inner axis rows lie this far apart; one cache line more than a power of two keeps them out of each other's
/// way.
template <typename T>
constexpr std::int64_t row_pitch = max_depth<T> + 64 / static_cast<std::int64_t>(sizeof(T));

/// Packs the rows of one tile (a.rows of them) in the order of a. Across rows the inner axis may be packed bit by bit:
/// element k begins at packed + k * a.rows.
template <typename T>
void pack_rows(const Matrix<const T>& a, T* packed);

/// Copies up to register_tile().columns columns of b so that the kernel reads them in one run; missing ones become
/// zero. packed: b.rows * register_tile().columns elements, aligned to 64 bytes.
template <typename T>
void pack_panel(const Matrix<const T>& b, T* packed);

/// c = a b, where c has the rows of one tile, a and b are packed, and the panels of b follow each other.
template <typename T>
void multiply_packed(PackOrder order, const T* a, const T* panels, std::int64_t depth, const Matrix<T>& c,
                     const GemmOptions<T>& options);

}  // namespace bough
