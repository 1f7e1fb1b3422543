#pragma once

#include <cstdint>

#include "kernels/cpu/gemm.h"

namespace bough {

/// The piece of c whose sums are held in registers; a property of the instruction set in use.
struct RegisterTile {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <typename T>
RegisterTile register_tile();

/// The most products that are summed in registers before the sum goes to memory: such a stretch of a few rows of a
/// stays in the first-level cache.
template <typename T>
constexpr std::int64_t max_depth = 1536 / static_cast<std::int64_t>(sizeof(T));

/// Copies up to register_tile().columns columns of b so that the kernel reads them in one run; missing ones become
/// zero. packed: b.rows * register_tile().columns elements, aligned to 64 bytes.
template <typename T>
void pack_panel(const Matrix<const T>& b, T* packed);

/// c = a b, where b is given as packed panels one after the other and a has at most max_depth columns.
template <typename T>
void multiply_panels(const Matrix<const T>& a, const T* panels, const Matrix<T>& c, const GemmOptions<T>& options);

}  // namespace bough
