#include "kernels/cpu/reduce.h"

namespace bough {
namespace {

/// Columns worked on together: their running products stay in the fastest cache.
constexpr std::int64_t tile = 512;

/// One tile of columns: on the way down dx becomes the product of the rows above, on the way up that of the rows below
/// is multiplied in. No division, so zeros among the factors do no harm.
template <typename T>
void tile_gradient(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t width, const T* dy, T* dx) {
  T product[tile];
  std::fill_n(product, width, T{1});
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < width; ++i) {
      dx[row * stride + i] = product[i];
      product[i] *= x[row * stride + i];
    }
  }
  std::copy_n(dy, width, product);
  for (std::int64_t row = rows - 1; row >= 0; --row) {
    for (std::int64_t i = 0; i < width; ++i) {
      dx[row * stride + i] *= product[i];
      product[i] *= x[row * stride + i];
    }
  }
}

}  // namespace

template <typename T>
void prod_backward(Cpu, const ReduceShape& shape, const T* x, const T* dy, T* dx) {
  if (shape.inner == 0) return;
  const std::int64_t tiles = num_chunks(shape.inner, tile), plane = shape.reduced * shape.inner;
  const std::int64_t chunk = rows_per_chunk(shape.reduced * std::min(tile, shape.inner));
  parallel_chunks(shape.outer * tiles, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t outer = unit / tiles, column = unit % tiles * tile;
      const std::int64_t start = outer * plane + column;
      tile_gradient(x + start, shape.reduced, shape.inner, std::min(tile, shape.inner - column),
                    dy + outer * shape.inner + column, dx + start);
    }
  });
}

template void prod_backward(Cpu, const ReduceShape&, const float*, const float*, float*);
template void prod_backward(Cpu, const ReduceShape&, const double*, const double*, double*);

}  // namespace bough
