#include "kernels/cpu/gemm.h"

#include <algorithm>

#include "bough/core/parallel.h"
#include "kernels/cpu/gemm_tile.h"
#include "kernels/scratch.h"

namespace bough {
namespace {

// Multiplications that are worth a chunk of their own for another thread.
constexpr std::int64_t least_work = 1 << 20;
// Rows of a and columns of b that are packed at a time.
constexpr std::int64_t packed_at_once = 4096;
// Columns of b that one chunk reads again and again from its second-level cache, and how much may stay there.
constexpr std::int64_t columns_of_chunk = 512;
constexpr std::int64_t cached_bytes = 1 << 20;
// Elements of the inner axis that are packed together where they lie far apart.
constexpr std::int64_t packing_run = 16;

/// Rows of b are packed in blocks of equal depth, columns in panels.
template <typename T>
struct PackedSizes {
  PackedSizes(std::int64_t rows, std::int64_t columns)
      : panel_columns(register_tile<T>().columns),
        panels(num_chunks(columns, panel_columns)),
        blocks(std::max<std::int64_t>(1, num_chunks(rows, max_depth<T>))),
        depth(num_chunks(rows, blocks)) {}

  std::int64_t width() const { return panels * panel_columns; }

  std::int64_t panel_columns, panels;
  std::int64_t blocks, depth;  ///< the last block may be less deep
};

/// A product of at most packed_at_once columns (and rows, if a is packed across rows), and how it is cut up. All of
/// that follows from sizes and instruction set, nothing from the threads.
template <typename T>
class BlockedProduct {
 public:
  BlockedProduct(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, const GemmOptions<T>& options)
      : BlockedProduct(a, c, options) {
    b_ = b;
    const std::int64_t bytes = packed_width() * std::max<std::int64_t>(1, depth_) * std::int64_t{sizeof(T)};
    blocks_at_once_ = std::clamp<std::int64_t>(cached_bytes / bytes, 1, blocks_);
    room_for_b_ = Scratch<T>(blocks_at_once_ * depth_ * packed_width());
    packed_b_ = room_for_b_.data();
    if (order_ == PackOrder::across_rows) packed_a_ = Scratch<T>(blocks_at_once_ * depth_ * c.rows);
  }

  BlockedProduct(const Matrix<const T>& a, const PackedMatrix<T>& b, const Matrix<T>& c, const GemmOptions<T>& options)
      : BlockedProduct(a, c, options) {
    packed_b_ = b.panels.data();
    blocks_at_once_ = blocks_;
    // One row tile would be one chunk for every 512 columns. A product with few rows takes as long as reading b does.
    const std::int64_t work = std::max<std::int64_t>(8, c.rows) * std::max<std::int64_t>(1, a.columns);
    const std::int64_t panels = num_chunks(least_work, work * tile_.columns);
    if (row_tiles_ == 1) columns_of_chunk_ = std::min(columns_of_chunk, panels * tile_.columns);
  }

  void multiply_packed_b() const { multiply(0, blocks_); }

  void run() const {
    for (std::int64_t first = 0; first < blocks_; first += blocks_at_once_) {
      const std::int64_t last = std::min(blocks_, first + blocks_at_once_);
      pack_b(first, last);
      if (order_ == PackOrder::across_rows) pack_a(first, last);  // else each tile just before its use
      multiply(first, last);
    }
  }

 private:
  BlockedProduct(const Matrix<const T>& a, const Matrix<T>& c, const GemmOptions<T>& options)
      : a_(a), c_(c), options_(options), order_(pack_order(a)), tile_(register_tile<T>()) {
    const PackedSizes<T> sizes(a.columns, c.columns);
    row_tiles_ = num_chunks(c.rows, tile_.rows);
    panels_ = sizes.panels;
    blocks_ = sizes.blocks;
    depth_ = sizes.depth;
  }

  std::int64_t packed_width() const { return panels_ * tile_.columns; }
  std::int64_t depth_of(std::int64_t block) const { return std::min(depth_, a_.columns - block * depth_); }
  T* panels_of(std::int64_t block) const { return packed_b_ + block % blocks_at_once_ * depth_ * packed_width(); }
  T* rows_of_a(std::int64_t block) const { return packed_a_.data() + block % blocks_at_once_ * depth_ * c_.rows; }
  /// Tiles of nearly equal height: thirty rows are 10 + 10 + 10, not 14 + 14 + 2.
  std::int64_t row_of(std::int64_t row_tile) const { return row_tile * c_.rows / row_tiles_; }

  /// Calls f(block, k, count) for short runs of the inner axis; `width` elements of each are packed.
  template <typename F>
  void for_each_run(std::int64_t first, std::int64_t last, std::int64_t width, const F& f) const {
    const std::int64_t runs = num_chunks(depth_, packing_run);
    parallel_chunks((last - first) * runs, rows_per_chunk(packing_run * width),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t block = first + i / runs, k = i % runs * packing_run;
                        if (k < depth_of(block)) f(block, k, std::min(packing_run, depth_of(block) - k));
                      }
                    });
  }

  void pack_part_of_panel(std::int64_t block, std::int64_t panel, std::int64_t k, std::int64_t count) const {
    const std::int64_t column = panel * tile_.columns;
    pack_panel(b_.block(block * depth_ + k, column, count, std::min(tile_.columns, c_.columns - column)),
               panels_of(block) + column * depth_of(block) + k * tile_.columns);
  }

  /// Along the contiguous axis of b, whichever it is: jumps from page to page cost more than the copy itself.
  void pack_b(std::int64_t first, std::int64_t last) const {
    if (b_.column_stride == 1) {
      for_each_run(first, last, packed_width(), [&](std::int64_t block, std::int64_t k, std::int64_t count) {
        for (std::int64_t panel = 0; panel < panels_; ++panel) pack_part_of_panel(block, panel, k, count);
      });
    } else {
      parallel_chunks((last - first) * panels_, rows_per_chunk(depth_ * tile_.columns),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t i = begin; i < end; ++i) {
                          const std::int64_t block = first + i / panels_;
                          pack_part_of_panel(block, i % panels_, 0, depth_of(block));
                        }
                      });
    }
  }

  void pack_a(std::int64_t first, std::int64_t last) const {
    for_each_run(first, last, c_.rows, [&](std::int64_t block, std::int64_t k, std::int64_t count) {
      for (std::int64_t row_tile = 0; row_tile < row_tiles_; ++row_tile) {
        const std::int64_t row = row_of(row_tile), rows = row_of(row_tile + 1) - row;
        pack_rows(a_.block(row, block * depth_ + k, rows, count), rows_of_a(block) + row * depth_of(block) + k * rows);
      }
    });
  }

  /// How many row tiles make a chunk: enough work to pay for starting it, but sixteen chunks if there are the rows.
  std::int64_t tiles_of_chunk() const {
    const std::int64_t work =
        tile_.rows * std::min(c_.columns, columns_of_chunk_) * std::max<std::int64_t>(1, depth_ * blocks_at_once_);
    return std::max(num_chunks(least_work, work), std::clamp<std::int64_t>(row_tiles_ / 16, 1, 8));
  }

  void multiply(std::int64_t first, std::int64_t last) const {
    const std::int64_t tiles = tiles_of_chunk(), row_chunks = num_chunks(row_tiles_, tiles);
    // Chunks that follow each other share their columns, so that a thread finds those of b in its cache.
    parallel_chunks(row_chunks * num_chunks(c_.columns, columns_of_chunk_), 1, [&](std::int64_t chunk, std::int64_t) {
      const std::int64_t begin = chunk % row_chunks * tiles, end = std::min(row_tiles_, begin + tiles);
      const std::int64_t column = chunk / row_chunks * columns_of_chunk_;
      for (std::int64_t block = first; block < last; ++block) {
        for (std::int64_t row_tile = begin; row_tile < end; ++row_tile) multiply_tile(block, row_tile, column);
      }
    });
  }

  void multiply_tile(std::int64_t block, std::int64_t row_tile, std::int64_t column) const {
    const std::int64_t row = row_of(row_tile), rows = row_of(row_tile + 1) - row, depth = depth_of(block);
    alignas(64) T near[max_tile_rows * row_pitch<T>];
    const T* packed = order_ == PackOrder::across_rows ? rows_of_a(block) + row * depth : near;
    if (packed == near) pack_rows(a_.block(row, block * depth_, rows, depth), near);

    GemmOptions<T> step{.accumulate = options_.accumulate || block > 0};
    if (block == blocks_ - 1) {
      step.activation = options_.activation;
      if (options_.bias != nullptr) step.bias = options_.bias + column;
      if (options_.before_activation != nullptr) {
        step.before_activation = options_.before_activation + row * c_.row_stride + column;
      }
    }
    multiply_packed(order_, packed, panels_of(block) + column * depth, depth,
                    c_.block(row, column, rows, std::min(columns_of_chunk_, c_.columns - column)), step);
  }

  const Matrix<const T> a_;
  Matrix<const T> b_;
  const Matrix<T> c_;
  const GemmOptions<T> options_;
  const PackOrder order_;
  const RegisterTile tile_;
  std::int64_t row_tiles_ = 0, panels_ = 0;
  std::int64_t blocks_ = 1;  ///< of the inner axis, each depth_ long but the last
  std::int64_t depth_ = 0;
  std::int64_t blocks_at_once_ = 1;
  std::int64_t columns_of_chunk_ = columns_of_chunk;
  T* packed_b_ = nullptr;
  Scratch<T> packed_a_, room_for_b_;
};

template <typename T>
PackedMatrix<T> packed_in_panels(const Matrix<const T>& b) {
  const PackedSizes<T> sizes(b.rows, b.columns);
  PackedMatrix<T> packed{b.rows, b.columns, Scratch<T>(b.rows * sizes.width())};
  parallel_chunks(sizes.panels, rows_per_chunk(b.rows * sizes.panel_columns),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t panel = begin; panel < end; ++panel) {
                      const std::int64_t column = panel * sizes.panel_columns;
                      for (std::int64_t row = 0; row < b.rows; row += sizes.depth) {
                        const std::int64_t depth = std::min(sizes.depth, b.rows - row);
                        pack_panel(b.block(row, column, depth, std::min(sizes.panel_columns, b.columns - column)),
                                   packed.panels.data() + row * sizes.width() + column * depth);
                      }
                    }
                  });
  return packed;
}

}  // namespace

template <typename T>
void gemm(Cpu, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const GemmOptions<T>& options) {
  const std::int64_t rows_at_once = pack_order(a) == PackOrder::across_rows ? packed_at_once : c.rows;
  for (std::int64_t row = 0; row < c.rows; row += rows_at_once) {
    for (std::int64_t column = 0; column < c.columns; column += packed_at_once) {
      const std::int64_t rows = std::min(rows_at_once, c.rows - row);
      const std::int64_t columns = std::min(packed_at_once, c.columns - column);
      GemmOptions<T> part = options;
      if (part.bias != nullptr) part.bias += column;
      if (part.before_activation != nullptr) part.before_activation += row * c.row_stride + column;
      BlockedProduct<T>(a.block(row, 0, rows, a.columns), b.block(0, column, b.rows, columns),
                        c.block(row, column, rows, columns), part)
          .run();
    }
  }
}

template <typename T>
PackedMatrix<T> pack_matrix(Cpu, Matrix<const T> b) {
  return packed_in_panels(b);
}

template <typename T>
void gemm(Cpu, Matrix<const T> a, const PackedMatrix<T>& b, Matrix<T> c, const GemmOptions<T>& options) {
  if (c.rows > 0 && c.columns > 0) BlockedProduct<T>(a, b, c, options).multiply_packed_b();
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
template PackedMatrix<float> pack_matrix(Cpu, Matrix<const float>);
template PackedMatrix<double> pack_matrix(Cpu, Matrix<const double>);
template void gemm(Cpu, Matrix<const float>, const PackedMatrix<float>&, Matrix<float>, const GemmOptions<float>&);
template void gemm(Cpu, Matrix<const double>, const PackedMatrix<double>&, Matrix<double>, const GemmOptions<double>&);
template void gemm_batch(Cpu, const GemmBatch&, Matrix<const float>, Matrix<const float>, Matrix<float>);
template void gemm_batch(Cpu, const GemmBatch&, Matrix<const double>, Matrix<const double>, Matrix<double>);

}  // namespace bough
