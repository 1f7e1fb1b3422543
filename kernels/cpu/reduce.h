#pragma once

#include <algorithm>

#include "bough/core/parallel.h"
#include "kernels/on_device.h"

namespace bough {

/// How elements along an axis become one. (bough::Reduction is how losses of rows become one.)
enum class AxisReduction { sum, prod, max, min };

/// A tensor seen as [outer, reduced, inner], in row-major order; the result is [outer, inner].
struct ReduceShape {
  std::int64_t outer = 1, reduced = 1, inner = 1;

  std::int64_t results() const { return outer * inner; }
};

/// How a reduction is cut into units of work that depend on the sizes only: row splits times column tiles of every
/// outer index. Units are numbered with the tile running fastest, then the split.
struct ReduceUnits {
  static constexpr std::int64_t largest_tile = 2048;  ///< columns; their accumulators stay in the fastest cache
  static constexpr std::int64_t unit_target = 65536;  ///< elements in a unit, about

  explicit ReduceUnits(const ReduceShape& shape)
      : tile(std::min(shape.inner, largest_tile)),
        tiles(num_chunks(shape.inner, std::max<std::int64_t>(1, tile))),
        rows_per_split(std::max<std::int64_t>(256, unit_target / std::max<std::int64_t>(1, tile))),
        splits(num_chunks(shape.reduced, rows_per_split)),
        count(shape.outer * splits * tiles),
        chunk(rows_per_chunk(std::min(shape.reduced, rows_per_split) * tile)) {}

  std::int64_t tile, tiles;             ///< columns in a tile, tiles in a row
  std::int64_t rows_per_split, splits;  ///< splits of each outer index
  std::int64_t count, chunk;            ///< units in all, and in one call of a thread
};

/// result[o, i] = x[o, 0, i] + x[o, 1, i] + ..., or their product, maximum, minimum. T: float, double, int32_t,
/// int64_t. Over nothing: 0 and 1 for sum and prod; max and min need reduced >= 1.
template <typename T>
void reduce(Cpu, AxisReduction reduction, const ReduceShape& shape, const T* x, T* result);

/// dx[o, r, i] = dy[o, i] times all x[o, s, i] with s other than r. T: float, double.
template <typename T>
void prod_backward(Cpu, const ReduceShape& shape, const T* x, const T* dy, T* dx);

}  // namespace bough
