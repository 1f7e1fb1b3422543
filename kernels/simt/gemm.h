#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"
#include "bough/ops/matmul.h"
#include "kernels/functors/unary.h"

/// Matrix products with plain multiplications and additions: a block for each tile of 64 x 64 results, through shared
/// memory in steps of 16. Sums run in the order of k, so an element depends on its row and column only.
namespace bough::simt {

/// Element (i, j) is data[i * row_stride + j * column_stride]; one of the strides is 1.
template <typename T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 1;
};

/// What happens to the sums on their way to c.
template <typename T>
struct GemmFinish {
  bool accumulate = false;                   ///< add to what c holds
  const T* bias = nullptr;                   ///< one value a column of c, added after that
  Activation activation = Activation::none;  ///< applied last
  T* before_activation = nullptr;            ///< laid out as c

  /// Whether anything but the sum itself becomes of a sum.
  bool changes_sums() const {
    return bias != nullptr || activation != Activation::none || before_activation != nullptr;
  }

  /// c[place], which is in that column, becomes what the sum becomes.
  template <typename Context>
  BOUGH_DEVICE void store(Context& context, T* c, std::int64_t place, std::int64_t column, T value) const {
    if (accumulate) value += context.load(c + place);
    if (bias != nullptr) value += context.load(bias + column);
    if (before_activation != nullptr) context.store(before_activation + place, value);
    if (activation == Activation::relu) value = scalar::value(UnaryFunction::relu, T{0}, T{0}, value);
    if (activation == Activation::gelu) value = scalar::value(UnaryFunction::gelu, T{0}, T{0}, value);
    context.store(c + place, value);
  }
};

/// Equally shaped products one after the other in memory.
struct GemmSteps {
  std::int64_t count = 1, a = 0, b = 0, c = 0;
};

template <typename T>
struct Gemm {
  static constexpr int block_size = 256;
  static constexpr int tile = 64, depth = 16;
  /// Keeps lanes out of each other's banks, of which a double takes two.
  static constexpr int pitch = tile + 8 / static_cast<int>(sizeof(T));
  static constexpr int per_thread = 4;  ///< rows and columns of a thread, 16 apart

  MatrixView<const T> a, b;
  MatrixView<T> c;
  GemmFinish<T> finish;
  GemmSteps batch;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const auto left = context.template shared<T>(depth * pitch);
    const auto right = context.template shared<T>(depth * pitch);
    const std::int64_t column_tiles = blocks_for(c.columns, tile), tiles = blocks_for(c.rows, tile) * column_tiles;
    const std::int64_t number = context.block() / tiles, within = context.block() % tiles;
    const std::int64_t first_row = within / column_tiles * tile, first_column = within % column_tiles * tile;
    const int row = context.thread() / 16, column = context.thread() % 16;
    T sums[per_thread][per_thread] = {};
    for (std::int64_t first = 0; first < a.columns; first += depth) {
      fetch(context, left, a.data + number * batch.a, a.row_stride, a.column_stride, first_row, a.rows, first);
      fetch(context, right, b.data + number * batch.b, b.column_stride, b.row_stride, first_column, b.columns, first);
      context.sync();
      for (int k = 0; k < depth; ++k) {
        T x[per_thread], y[per_thread];
        for (int i = 0; i < per_thread; ++i) x[i] = left.get(k * pitch + row + 16 * i);
        for (int j = 0; j < per_thread; ++j) y[j] = right.get(k * pitch + column + 16 * j);
        for (int i = 0; i < per_thread; ++i) {
          for (int j = 0; j < per_thread; ++j) sums[i][j] += x[i] * y[j];
        }
      }
      context.sync();
    }
    unrolled<per_thread * per_thread>([&](int number_of_sum) {
      const int i = number_of_sum / per_thread, j = number_of_sum % per_thread;
      const std::int64_t at_row = first_row + row + 16 * i, at_column = first_column + column + 16 * j;
      if (at_row < c.rows && at_column < c.columns) {
        const std::int64_t place = number * batch.c + at_row * c.row_stride + at_column;
        finish.store(context, c.data, place, at_column, sums[i][j]);
      }
    });
  }

 private:
  /// memory[k * pitch + i] = the element of line first_line + i at depth first + k, zero outside. Threads follow the
  /// stride that is 1.
  template <typename Context, typename Array>
  BOUGH_DEVICE void fetch(Context& context, const Array& memory, const T* data, std::int64_t line_stride,
                          std::int64_t depth_stride, std::int64_t first_line, std::int64_t lines,
                          std::int64_t first) const {
    const bool along_depth = depth_stride == 1;
    for (int j = 0; j < tile * depth / block_size; ++j) {
      const int line = along_depth ? context.thread() / depth + j * (block_size / depth) : context.thread() % tile;
      const int k = along_depth ? context.thread() % depth : context.thread() / tile + j * (block_size / tile);
      const bool inside = first_line + line < lines && first + k < a.columns;
      memory.set(k * pitch + line,
                 inside ? context.load(data + (first_line + line) * line_stride + (first + k) * depth_stride) : T{0});
    }
  }
};

/// Bias and activation of sums that cuBLAS has written to c.
template <typename T>
struct FinishGemm {
  static constexpr int block_size = 256;

  MatrixView<T> c;
  GemmFinish<T> finish;
  GemmSteps batch;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t element = context.block() * block_size + context.thread();
    if (element >= batch.count * c.rows * c.columns) return;
    const std::int64_t row = element / c.columns, column = element % c.columns;
    const std::int64_t place = row / c.rows * batch.c + row % c.rows * c.row_stride + column;
    finish.store(context, c.data, place, column, context.load(c.data + place));
  }
};

/// c = a b for every product of the batch.
template <typename Queue, typename T>
void gemm(Queue& queue, const Gemm<T>& product) {
  queue.launch({.name = "gemm",
                .num_blocks = product.batch.count * blocks_for(product.c.rows, Gemm<T>::tile) *
                              blocks_for(product.c.columns, Gemm<T>::tile),
                .block_size = Gemm<T>::block_size,
                .shared_bytes = 2 * shared_bytes<T>(Gemm<T>::depth * Gemm<T>::pitch)},
               product);
}

/// Bias and activation of a product whose sums are in c, accumulated already.
template <typename Queue, typename T>
void finish_gemm(Queue& queue, const Gemm<T>& product) {
  if (!product.finish.changes_sums()) return;
  FinishGemm<T> body{product.c, product.finish, product.batch};
  body.finish.accumulate = false;
  queue.launch(
      {.name = "finish_gemm",
       .num_blocks = blocks_for(product.batch.count * product.c.rows * product.c.columns, FinishGemm<T>::block_size),
       .block_size = FinishGemm<T>::block_size},
      body);
}

}  // namespace bough::simt
