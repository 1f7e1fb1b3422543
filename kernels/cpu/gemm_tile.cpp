#include "kernels/cpu/gemm_tile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_tile.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/dense_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The register tile is as many rows of two vectors as leave room for the operands: with 32 vector registers 14 (28
// sums, two vectors of b, one element of a), with 16 registers 6.
constexpr int tile_vectors = 2;
constexpr int tile_rows = HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64 ? max_tile_rows : 6;

template <typename T>
constexpr std::int64_t lanes = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
template <typename T>
constexpr std::int64_t tile_columns = tile_vectors* lanes<T>;

/// A few rows of a, packed, times one panel of b.
template <int Rows, PackOrder order, typename T>
HWY_NOINLINE void multiply_tile(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::int64_t depth, bool accumulate,
                                T* HWY_RESTRICT c, std::int64_t c_stride) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t row_step = order == PackOrder::along_inner ? row_pitch<T> : 1;
  constexpr std::int64_t inner_step = order == PackOrder::along_inner ? 1 : Rows;
  hn::Vec<hn::ScalableTag<T>> sums[Rows][tile_vectors];
#pragma GCC unroll 16
  for (auto& row : sums) row[0] = row[1] = hn::Zero(d);
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    hwy::Prefetch(c + i * c_stride);
    hwy::Prefetch(c + i * c_stride + lanes<T>);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const auto b0 = hn::Load(d, b);
    const auto b1 = hn::Load(d, b + lanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const auto element = hn::Set(d, a[i * row_step]);
      sums[i][0] = hn::MulAdd(element, b0, sums[i][0]);
      sums[i][1] = hn::MulAdd(element, b1, sums[i][1]);
    }
    a += inner_step;
    b += tile_columns<T>;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    T* row = c + i * c_stride;
    if (accumulate) {
      sums[i][0] = hn::Add(sums[i][0], hn::LoadU(d, row));
      sums[i][1] = hn::Add(sums[i][1], hn::LoadU(d, row + lanes<T>));
    }
    hn::StoreU(sums[i][0], d, row);
    hn::StoreU(sums[i][1], d, row + lanes<T>);
  }
}

template <int Rows, PackOrder order, typename T>
void pack_tile(const Matrix<const T>& a, T* packed) {
  if constexpr (order == PackOrder::along_inner) {
    for (int i = 0; i < Rows; ++i) {
      std::memcpy(packed + i * row_pitch<T>, a.at(i, 0), static_cast<std::size_t>(a.columns) * sizeof(T));
    }
  } else {
    for (std::int64_t k = 0; k < a.columns; ++k) std::memcpy(packed + k * Rows, a.at(0, k), Rows * sizeof(T));
  }
}

template <typename T>
struct TileFunctions {
  void (*pack)(const Matrix<const T>&, T*);
  void (*multiply)(const T*, const T*, std::int64_t, bool, T*, std::int64_t);
};

template <PackOrder order, typename T, int... Less>
constexpr auto functions_by_rows(std::integer_sequence<int, Less...>) {
  return std::array<TileFunctions<T>, sizeof...(Less)>{
      {{&pack_tile<Less + 1, order, T>, &multiply_tile<Less + 1, order, T>}...}};
}

/// Where a tile of sums goes. Rows are `stride` apart in both places; `before` and `bias` may be null.
template <typename T>
struct TileTarget {
  T* c;
  T* before;
  const T* bias;
  std::int64_t stride;
};

/// Bias and activation, while the tile's sums are in the first-level cache.
template <typename T, typename Function>
HWY_NOINLINE void finish_tile(const Function& function, std::int64_t rows, const TileTarget<T>& target) {
  const hn::ScalableTag<T> d;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < tile_columns<T>; j += lanes<T>) {
      const std::int64_t offset = i * target.stride + j;
      auto z = hn::LoadU(d, target.c + offset);
      if (target.bias != nullptr) z = hn::Add(z, hn::LoadU(d, target.bias + j));
      if (target.before != nullptr) hn::StoreU(z, d, target.before + offset);
      hn::StoreU(function.value(d, z), d, target.c + offset);
    }
  }
}

template <typename T>
void copy_block(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride, T* to,
                std::int64_t to_stride) {
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(from + i * from_stride, columns, to + i * to_stride);
}

/// The last panel may have fewer columns than the kernel stores: calls multiply with a full-sized stand-in.
template <typename T, typename Multiply>
void through_edge(std::int64_t rows, std::int64_t columns, bool accumulate, const TileTarget<T>& target,
                  const Multiply& multiply) {
  constexpr std::int64_t width = tile_columns<T>;
  HWY_ALIGN T c[tile_rows * width] = {};
  HWY_ALIGN T before[tile_rows * width];
  HWY_ALIGN T bias[width] = {};
  if (accumulate) copy_block(rows, columns, target.c, target.stride, c, width);
  if (target.bias != nullptr) std::copy_n(target.bias, columns, bias);
  multiply(
      TileTarget<T>{c, target.before == nullptr ? nullptr : before, target.bias == nullptr ? nullptr : bias, width});
  copy_block(rows, columns, c, width, target.c, target.stride);
  if (target.before != nullptr) copy_block(rows, columns, before, width, target.before, target.stride);
}

template <typename T>
const TileFunctions<T>& functions_for(PackOrder order, std::int64_t rows) {
  static constexpr auto sizes = std::make_integer_sequence<int, tile_rows>();
  static constexpr auto along_inner = functions_by_rows<PackOrder::along_inner, T>(sizes);
  static constexpr auto across_rows = functions_by_rows<PackOrder::across_rows, T>(sizes);
  return (order == PackOrder::along_inner ? along_inner : across_rows)[static_cast<std::size_t>(rows - 1)];
}

template <typename T>
void pack_rows_any(const Matrix<const T>& a, T* packed) {
  functions_for<T>(pack_order(a), a.rows).pack(a, packed);
}

template <typename T>
void multiply_any(PackOrder order, const T* a, const T* panels, std::int64_t depth, const Matrix<T>& c,
                  const GemmOptions<T>& options) {
  const TileFunctions<T>& sized = functions_for<T>(order, c.rows);
  const bool finish = options.bias != nullptr || options.activation != Activation::none;
  for (std::int64_t column = 0; column < c.columns; column += tile_columns<T>) {
    const auto multiply = [&](const TileTarget<T>& target) {
      sized.multiply(a, panels + column * depth, depth, options.accumulate, target.c, target.stride);
      if (!finish) return;
      visit_activation(options.activation, [&](auto function) { finish_tile(function, c.rows, target); });
    };
    const TileTarget<T> target{c.data + column,
                               options.before_activation == nullptr ? nullptr : options.before_activation + column,
                               options.bias == nullptr ? nullptr : options.bias + column, c.row_stride};
    const std::int64_t columns = c.columns - column;
    if (columns >= tile_columns<T>)
      multiply(target);
    else
      through_edge(c.rows, columns, options.accumulate, target, multiply);
  }
}

/// Element by element: packed[k * tile_columns + j] = b(k, j) for a part of the panel.
template <typename T>
void transpose_part(const Matrix<const T>& b, std::int64_t first_row, std::int64_t first_column, T* packed) {
  for (std::int64_t j = first_column; j < b.columns; ++j) {
    for (std::int64_t k = first_row; k < b.rows; ++k) packed[k * tile_columns<T> + j] = *b.at(k, j);
  }
}

#if HWY_TARGET == HWY_SCALAR
template <typename T>
void transpose_panel(const Matrix<const T>& b, T* packed) {
  transpose_part(b, 0, 0, packed);
}
#else
/// Transposes the squares of 128 bits that lie side by side in so many vectors: 4 x 4 floats or 2 x 2 doubles.
template <class D, class V>
HWY_INLINE void transpose_squares(D d, V (&rows)[2]) {
  const V lower = hn::InterleaveLower(d, rows[0], rows[1]);
  rows[1] = hn::InterleaveUpper(d, rows[0], rows[1]);
  rows[0] = lower;
}
template <class D, class V>
HWY_INLINE void transpose_squares(D d, V (&rows)[4]) {
  const hn::RepartitionToWide<D> pairs;
  const auto wide = [&](V v) HWY_ATTR { return hn::BitCast(pairs, v); };
  const auto low01 = wide(hn::InterleaveLower(d, rows[0], rows[1])),
             high01 = wide(hn::InterleaveUpper(d, rows[0], rows[1]));
  const auto low23 = wide(hn::InterleaveLower(d, rows[2], rows[3])),
             high23 = wide(hn::InterleaveUpper(d, rows[2], rows[3]));
  rows[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  rows[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  rows[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  rows[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

/// The panel of a matrix that is contiguous along its columns, in squares; what is left of them one by one.
template <typename T>
void transpose_panel(const Matrix<const T>& b, T* packed) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t side = 16 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t rows = b.rows / lanes<T> * lanes<T>, columns = b.columns / side * side;
  for (std::int64_t k = 0; k < rows; k += lanes<T>) {
    for (std::int64_t j = 0; j < columns; j += side) {
      hn::Vec<hn::ScalableTag<T>> squares[side];
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < side; ++i) squares[i] = hn::LoadU(d, b.at(k, j + i));
      transpose_squares(d, squares);
      HWY_ALIGN T turned[side * lanes<T>];
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < side; ++i) hn::Store(squares[i], d, turned + i * lanes<T>);
      // Row i of the square at `begin` belongs to inner index k + begin + i.
      for (std::int64_t begin = 0; begin < lanes<T>; begin += side) {
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < side; ++i) {
          std::memcpy(packed + (k + begin + i) * tile_columns<T> + j, turned + i * lanes<T> + begin, side * sizeof(T));
        }
      }
    }
  }
  transpose_part(b, rows, 0, packed);
  transpose_part(b.block(0, 0, rows, b.columns), 0, columns, packed);
}
#endif

template <typename T>
void pack_panel_any(const Matrix<const T>& b, T* packed) {
  constexpr std::int64_t width = tile_columns<T>;
  if (b.columns < width) std::fill_n(packed, b.rows * width, T{0});
  if (b.column_stride != 1) {
    transpose_panel(b, packed);
  } else if (b.columns == width) {
    for (std::int64_t k = 0; k < b.rows; ++k) std::memcpy(packed + k * width, b.at(k, 0), width * sizeof(T));
  } else {
    for (std::int64_t k = 0; k < b.rows; ++k) std::copy_n(b.at(k, 0), b.columns, packed + k * width);
  }
}

RegisterTile register_tile_float() { return {tile_rows, tile_columns<float>}; }
RegisterTile register_tile_double() { return {tile_rows, tile_columns<double>}; }
void pack_rows_float(const Matrix<const float>& a, float* packed) { pack_rows_any(a, packed); }
void pack_rows_double(const Matrix<const double>& a, double* packed) { pack_rows_any(a, packed); }
void pack_panel_float(const Matrix<const float>& b, float* packed) { pack_panel_any(b, packed); }
void pack_panel_double(const Matrix<const double>& b, double* packed) { pack_panel_any(b, packed); }
void multiply_float(PackOrder order, const float* a, const float* panels, std::int64_t depth, const Matrix<float>& c,
                    const GemmOptions<float>& options) {
  multiply_any(order, a, panels, depth, c, options);
}
void multiply_double(PackOrder order, const double* a, const double* panels, std::int64_t depth,
                     const Matrix<double>& c, const GemmOptions<double>& options) {
  multiply_any(order, a, panels, depth, c, options);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(register_tile_float);
HWY_EXPORT(register_tile_double);
HWY_EXPORT(pack_rows_float);
HWY_EXPORT(pack_rows_double);
HWY_EXPORT(pack_panel_float);
HWY_EXPORT(pack_panel_double);
HWY_EXPORT(multiply_float);
HWY_EXPORT(multiply_double);

template <>
RegisterTile register_tile<float>() {
  return HWY_DYNAMIC_DISPATCH(register_tile_float)();
}
template <>
RegisterTile register_tile<double>() {
  return HWY_DYNAMIC_DISPATCH(register_tile_double)();
}

template <>
void pack_rows(const Matrix<const float>& a, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_rows_float)(a, packed);
}
template <>
void pack_rows(const Matrix<const double>& a, double* packed) {
  HWY_DYNAMIC_DISPATCH(pack_rows_double)(a, packed);
}

template <>
void pack_panel(const Matrix<const float>& b, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_panel_float)(b, packed);
}
template <>
void pack_panel(const Matrix<const double>& b, double* packed) {
  HWY_DYNAMIC_DISPATCH(pack_panel_double)(b, packed);
}

template <>
void multiply_packed(PackOrder order, const float* a, const float* panels, std::int64_t depth, const Matrix<float>& c,
                     const GemmOptions<float>& options) {
  HWY_DYNAMIC_DISPATCH(multiply_float)(order, a, panels, depth, c, options);
}
template <>
void multiply_packed(PackOrder order, const double* a, const double* panels, std::int64_t depth,
                     const Matrix<double>& c, const GemmOptions<double>& options) {
  HWY_DYNAMIC_DISPATCH(multiply_double)(order, a, panels, depth, c, options);
}

}  // namespace bough
#endif
