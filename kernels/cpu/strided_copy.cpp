#include "kernels/cpu/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "bough/core/parallel.h"

namespace bough {
namespace {

constexpr std::int64_t chunk_elements = 1 << 15;
constexpr std::int64_t tile_rows = 64, tile_columns = 16;

/// The same move with as few axes as possible: none of extent 1, none that continues the one after it.
StridedMove simplified(const StridedMove& move) {
  StridedMove result;
  for (int axis = 0; axis < move.rank; ++axis) {
    const std::int64_t extent = move.extents[axis];
    const std::int64_t source = move.source_strides[axis], target = move.target_strides[axis];
    if (extent == 1) continue;
    const int last = result.rank - 1;
    if (last >= 0 && result.source_strides[last] == source * extent && result.target_strides[last] == target * extent) {
      result.extents[last] *= extent;
      result.source_strides[last] = source;
      result.target_strides[last] = target;
    } else {
      result.add_axis(extent, source, target);
    }
  }
  return result;
}

/// All axes of `move` but two (or one, if both are the same).
StridedMove without(const StridedMove& move, int axis_a, int axis_b) {
  StridedMove rest;
  for (int axis = 0; axis < move.rank; ++axis) {
    if (axis == axis_a || axis == axis_b) continue;
    rest.add_axis(move.extents[axis], move.source_strides[axis], move.target_strides[axis]);
  }
  return rest;
}

using Position = std::array<std::int64_t, Shape::max_rank>;

/// Calls body(source offset, target offset, position) for all positions of `outer`, in parallel.
template <typename Body>
void for_each_position(const StridedMove& outer, std::int64_t elements_each, const Body& body) {
  std::int64_t count = 1;
  for (int axis = 0; axis < outer.rank; ++axis) count *= outer.extents[axis];
  parallel_chunks(count, rows_per_chunk(elements_each, chunk_elements), [&](std::int64_t begin, std::int64_t end) {
    Position position{};
    std::int64_t source = 0, target = 0, rest = begin;
    for (int axis = outer.rank - 1; axis >= 0; --axis) {
      position[axis] = rest % outer.extents[axis];
      rest /= outer.extents[axis];
      source += position[axis] * outer.source_strides[axis];
      target += position[axis] * outer.target_strides[axis];
    }
    for (std::int64_t i = begin; i < end; ++i) {
      body(source, target, position);
      for (int axis = outer.rank - 1; axis >= 0; --axis) {
        source += outer.source_strides[axis];
        target += outer.target_strides[axis];
        if (++position[axis] < outer.extents[axis]) break;
        source -= position[axis] * outer.source_strides[axis];
        target -= position[axis] * outer.target_strides[axis];
        position[axis] = 0;
      }
    }
  });
}

/// Copies along the last axis; long runs are cut so that a single one still keeps all threads busy.
template <typename T>
void copy_runs(const StridedMove& move, const T* source, T* target) {
  const int last = move.rank - 1;
  const std::int64_t extent = move.extents[last], chunk = std::min(extent, chunk_elements);
  const std::int64_t source_step = move.source_strides[last], target_step = move.target_strides[last];
  StridedMove outer = without(move, last, last);
  outer.add_axis(num_chunks(extent, chunk), source_step * chunk, target_step * chunk);
  for_each_position(outer, chunk, [&](std::int64_t from, std::int64_t to, const Position& position) {
    const std::int64_t count = std::min(chunk, extent - position[last] * chunk);
    if (source_step == 1 && target_step == 1) {
      std::memcpy(target + to, source + from, static_cast<std::size_t>(count) * sizeof(T));
    } else if (source_step == 0 && target_step == 1) {
      std::fill_n(target + to, count, source[from]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) target[to + i * target_step] = source[from + i * source_step];
    }
  });
}

/// Reads a tile along the source's runs and writes it along the target's. It passes through a buffer, so that every
/// cache line of either side is touched once, even where strides are powers of two and the lines of a tile fall into
/// one set of the cache.
template <typename T>
void copy_tile(const T* source, std::int64_t source_step, T* target, std::int64_t target_step, std::int64_t rows,
               std::int64_t columns) {
  T buffer[tile_rows * tile_columns];
  for (std::int64_t row = 0; row < rows; ++row) {
    // The next tile lies beside this one; so many rows are too many streams for the processor to follow by itself.
    __builtin_prefetch(source + row * source_step + 2 * tile_columns);
    std::copy_n(source + row * source_step, columns, buffer + row * tile_columns);
  }
  for (std::int64_t column = 0; column < columns; ++column) {
    T* out = target + column * target_step;
    for (std::int64_t row = 0; row < rows; ++row) out[row] = buffer[row * tile_columns + column];
  }
}

/// Copies where the source runs along `source_axis` and the target along the last one.
template <typename T>
void copy_tiles(const StridedMove& move, int source_axis, const T* source, T* target) {
  const int last = move.rank - 1;
  const std::int64_t height = move.extents[last], width = move.extents[source_axis];
  const std::int64_t source_step = move.source_strides[last], target_step = move.target_strides[source_axis];
  StridedMove outer = without(move, source_axis, last);
  outer.add_axis(num_chunks(height, tile_rows), source_step * tile_rows, tile_rows);
  outer.add_axis(num_chunks(width, tile_columns), tile_columns, target_step * tile_columns);
  const std::int64_t tile = tile_rows * tile_columns;
  for_each_position(outer, tile, [&](std::int64_t from, std::int64_t to, const Position& position) {
    const std::int64_t rows = std::min(tile_rows, height - position[last - 1] * tile_rows);
    const std::int64_t columns = std::min(tile_columns, width - position[last] * tile_columns);
    if (rows == tile_rows && columns == tile_columns) {
      // With sizes the compiler knows, the loops have no ends to look for.
      copy_tile(source + from, source_step, target + to, target_step, tile_rows, tile_columns);
    } else {
      copy_tile(source + from, source_step, target + to, target_step, rows, columns);
    }
  });
}

}  // namespace

template <typename T>
void strided_copy(Cpu, const StridedMove& move, const T* source, T* target) {
  if (std::ranges::count(std::span(move.extents).first(static_cast<std::size_t>(move.rank)), 0) > 0) return;
  const StridedMove axes = simplified(move);
  if (axes.rank == 0) {
    *target = *source;
    return;
  }
  const int last = axes.rank - 1;
  if (axes.source_strides[last] != 1 && axes.target_strides[last] == 1) {
    for (int axis = last - 1; axis >= 0; --axis) {
      if (axes.source_strides[axis] == 1) return copy_tiles(axes, axis, source, target);
    }
  }
  copy_runs(axes, source, target);
}

template void strided_copy(Cpu, const StridedMove&, const float*, float*);
template void strided_copy(Cpu, const StridedMove&, const double*, double*);
template void strided_copy(Cpu, const StridedMove&, const std::int32_t*, std::int32_t*);
template void strided_copy(Cpu, const StridedMove&, const std::int64_t*, std::int64_t*);
template void strided_copy(Cpu, const StridedMove&, const bool*, bool*);
template void strided_copy(Cpu, const StridedMove&, const bfloat16*, bfloat16*);

}  // namespace bough
