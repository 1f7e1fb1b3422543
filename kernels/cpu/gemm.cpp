#include "kernels/cpu/gemm.h"

#include <algorithm>

#include "bough/core/parallel.h"
#include "kernels/cpu/gemm_tile.h"
#include "kernels/cpu/scratch.h"

namespace bough {
namespace {

// Multiplications that are worth a piece of their own for another thread.
constexpr std::int64_t least_work = 1 << 20;
// Of b: what is packed at a time, and what one piece reads again and again from its second-level cache.
constexpr std::int64_t columns_at_once = 4096;
constexpr std::int64_t columns_of_piece = 512;
constexpr std::int64_t cached_bytes = 1 << 20;

/// How a product is cut up. Everything follows from the sizes and the instruction set, nothing from the threads.
template <typename T>
struct Blocking {
  Blocking(std::int64_t rows, std::int64_t columns, std::int64_t inner)
      : tile(register_tile<T>()),
        panels(num_chunks(columns, tile.columns)),
        width(panels * tile.columns),
        blocks(std::max<std::int64_t>(1, num_chunks(inner, max_depth<T>))),
        depth(num_chunks(inner, blocks)) {
    const std::int64_t block_bytes = std::max<std::int64_t>(1, width * depth) * static_cast<std::int64_t>(sizeof(T));
    blocks_at_once = std::clamp<std::int64_t>(cached_bytes / block_bytes, 1, blocks);
    // Sixteen pieces even out the load of a few threads; eight register tiles in a row pay for starting a piece.
    const std::int64_t work_of_row = std::min(columns, columns_of_piece) * std::max<std::int64_t>(1, depth);
    const std::int64_t rows_of_work = num_chunks(least_work, work_of_row * blocks_at_once);
    const std::int64_t tiles = std::clamp<std::int64_t>(num_chunks(rows / 16, tile.rows), 1, 8);
    row_piece = std::max(tiles, num_chunks(rows_of_work, tile.rows)) * tile.rows;
  }

  RegisterTile tile;
  std::int64_t panels;
  std::int64_t width;
  std::int64_t blocks;  ///< of the inner axis, each `depth` long but the last
  std::int64_t depth;
  std::int64_t blocks_at_once = 1;
  std::int64_t row_piece = 1;
};

/// The product of all rows with as many columns as are packed at once.
template <typename T>
void multiply_columns(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c,
                      const GemmOptions<T>& options) {
  const std::int64_t inner = a.columns;
  const Blocking<T> cut(c.rows, c.columns, inner);
  const std::int64_t row_pieces = num_chunks(c.rows, cut.row_piece);
  const std::int64_t column_pieces = num_chunks(c.columns, columns_of_piece);
  const Scratch<T> packed(cut.blocks_at_once * cut.depth * cut.width);

  for (std::int64_t first = 0; first < cut.blocks; first += cut.blocks_at_once) {
    const std::int64_t last = std::min(cut.blocks, first + cut.blocks_at_once);
    const auto depth_of = [&](std::int64_t block) { return std::min(cut.depth, inner - block * cut.depth); };
    const auto panels_of = [&](std::int64_t block) { return packed.data() + (block - first) * cut.depth * cut.width; };

    parallel_chunks((last - first) * cut.panels, rows_per_chunk(cut.depth * cut.tile.columns),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t block = first + i / cut.panels;
                        const std::int64_t column = i % cut.panels * cut.tile.columns;
                        pack_panel(b.block(block * cut.depth, column, depth_of(block),
                                           std::min(cut.tile.columns, c.columns - column)),
                                   panels_of(block) + column * depth_of(block));
                      }
                    });

    // Pieces that follow each other share their columns, so that a thread finds those of b in its cache.
    parallel_chunks(row_pieces * column_pieces, 1, [&](std::int64_t piece, std::int64_t) {
      const std::int64_t row = piece % row_pieces * cut.row_piece;
      const std::int64_t column = piece / row_pieces * columns_of_piece;
      const std::int64_t rows = std::min(cut.row_piece, c.rows - row);
      const Matrix<T> target = c.block(row, column, rows, std::min(columns_of_piece, c.columns - column));
      for (std::int64_t block = first; block < last; ++block) {
        GemmOptions<T> step{.accumulate = options.accumulate || block > 0};
        if (block == cut.blocks - 1) {
          step.bias = options.bias == nullptr ? nullptr : options.bias + column;
          step.activation = options.activation;
          if (options.before_activation != nullptr) {
            step.before_activation = options.before_activation + row * c.row_stride + column;
          }
        }
        multiply_panels(a.block(row, block * cut.depth, rows, depth_of(block)),
                        panels_of(block) + column * depth_of(block), target, step);
      }
    });
  }
}

}  // namespace

template <typename T>
void gemm(Cpu, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const GemmOptions<T>& options) {
  if (c.rows == 0) return;
  for (std::int64_t column = 0; column < c.columns; column += columns_at_once) {
    const std::int64_t columns = std::min(columns_at_once, c.columns - column);
    GemmOptions<T> part = options;
    if (part.bias != nullptr) part.bias += column;
    if (part.before_activation != nullptr) part.before_activation += column;
    multiply_columns(a, b.block(0, column, b.rows, columns), c.block(0, column, c.rows, columns), part);
  }
}

template <typename T>
void gemm_batch(Cpu cpu, const GemmBatch& batch, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  const std::int64_t work = std::max<std::int64_t>(1, c.rows * c.columns) * std::max<std::int64_t>(1, a.columns);
  parallel_chunks(batch.count, rows_per_chunk(work, least_work), [&](std::int64_t begin, std::int64_t end) {
    const auto shifted = [](auto matrix, std::int64_t offset) {
      matrix.data += offset;
      return matrix;
    };
    for (std::int64_t i = begin; i < end; ++i) {
      gemm(cpu, shifted(a, i * batch.step_a), shifted(b, i * batch.step_b), shifted(c, i * batch.step_c));
    }
  });
}

template void gemm(Cpu, Matrix<const float>, Matrix<const float>, Matrix<float>, const GemmOptions<float>&);
template void gemm(Cpu, Matrix<const double>, Matrix<const double>, Matrix<double>, const GemmOptions<double>&);
template void gemm_batch(Cpu, const GemmBatch&, Matrix<const float>, Matrix<const float>, Matrix<float>);
template void gemm_batch(Cpu, const GemmBatch&, Matrix<const double>, Matrix<const double>, Matrix<double>);

}  // namespace bough
