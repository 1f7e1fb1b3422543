#pragma once

#include <cstddef>
#include <cstdint>

#include "bough/detail/simt/context.h"
#include "kernels/simt/fragment.h"

/// Rows picked by an index, and what flows back into the rows of segments. Sums of rows by an index are gspmm over the
/// sorted index.
namespace bough::simt {

/// target[i] = source[index[i]] for rows of `width` units; a thread for each unit, neighbours for neighbours.
template <typename Unit, typename Index>
struct GatherRows {
  static constexpr int block_size = 256;

  const Unit* source = nullptr;
  const Index* index = nullptr;
  Unit* target = nullptr;
  std::int64_t rows = 0, width = 1;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= rows * width) return;
    const std::int64_t row = context.load(index + i / width);
    context.store(target + i, context.load(source + row * width + i % width));
  }
};

/// Rows of `width` bytes, in the largest units that fit.
template <typename Queue, typename Index>
void gather_rows(Queue& queue, const std::byte* source, const Index* index, std::byte* target, std::int64_t rows,
                 std::int64_t width) {
  const auto gather = [&]<typename Unit>(Unit) {
    using Body = GatherRows<Unit, Index>;
    const std::int64_t units = width / static_cast<std::int64_t>(sizeof(Unit));
    launch_threads(queue, "gather_rows", rows * units,
                   Body{reinterpret_cast<const Unit*>(source), index, reinterpret_cast<Unit*>(target), rows, units});
  };
  const auto fits = [&](std::uintptr_t bytes) {
    return (reinterpret_cast<std::uintptr_t>(source) | reinterpret_cast<std::uintptr_t>(target) |
            static_cast<std::uintptr_t>(width)) %
               bytes ==
           0;
  };
  if (fits(16)) return gather(Pack<std::uint32_t, 4>{});
  if (fits(4)) return gather(std::uint32_t{});
  gather(std::byte{});
}

/// target[index[i]] = source[i], or zeros without a source; the entries of the index are distinct. A thread for each
/// unit.
template <typename Unit>
struct PutRows {
  static constexpr int block_size = 256;

  const Unit* source = nullptr;
  const std::int32_t* index = nullptr;
  Unit* target = nullptr;
  std::int64_t rows = 0, width = 1;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= rows * width) return;
    const std::int64_t row = context.load(index + i / width);
    context.store(target + row * width + i % width, source == nullptr ? Unit{} : context.load(source + i));
  }
};

template <typename Queue, typename Unit>
void put_rows(Queue& queue, const PutRows<Unit>& body) {
  launch_threads(queue, "put_rows", body.rows * body.width, body);
}

/// What each row of a segment gets back from the segment's gradient: a thread for each element, which finds its segment
/// by bisection.
template <typename T>
struct SpreadSegments {
  static constexpr int block_size = 256;

  const std::int64_t* offsets = nullptr;
  std::int64_t segments = 0, rows = 0, width = 1;
  const T* gradient = nullptr;
  const std::int32_t* arg_indices = nullptr;  ///< if given, only the row that won a feature gets it
  bool mean = false;                          ///< divided by the number of rows
  T* values = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= rows * width) return;
    const std::int64_t row = i / width, column = i % width;
    std::int64_t low = 0, high = segments;  // offsets[low] <= row < offsets[high]
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      if (context.load(offsets + middle) <= row) {
        low = middle;
      } else {
        high = middle;
      }
    }
    T value = context.load(gradient + low * width + column);
    if (arg_indices != nullptr && context.load(arg_indices + low * width + column) != static_cast<std::int32_t>(row))
      value = 0;
    if (mean) value /= static_cast<T>(context.load(offsets + low + 1) - context.load(offsets + low));
    context.store(values + i, value);
  }
};

template <typename Queue, typename T>
void spread_segments(Queue& queue, const SpreadSegments<T>& body) {
  launch_threads(queue, "spread_segments", body.rows * body.width, body);
}

/// The gradient of a product of messages by row: the gradient of the row times the product of the other messages, made
/// of those before and those after, so that zeros need no care. A thread for each row and feature.
template <typename T>
struct ProductGradient {
  static constexpr int block_size = 128;

  const std::int64_t* offsets = nullptr;
  const std::int32_t* edge_ids = nullptr;  ///< null if position p holds edge p
  std::int64_t rows = 0, width = 1;
  const T* messages = nullptr;
  const T* gradient = nullptr;
  T* message_gradient = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= rows * width) return;
    const std::int64_t begin = context.load(offsets + i / width), end = context.load(offsets + i / width + 1);
    const auto place = [&](std::int64_t position) {
      return (edge_ids == nullptr ? position : context.load(edge_ids + position)) * width + i % width;
    };
    T product = context.load(gradient + i);
    for (std::int64_t position = begin; position < end; ++position) {
      context.store(message_gradient + place(position), product);
      product *= context.load(messages + place(position));
    }
    product = 1;
    for (std::int64_t position = end; position-- > begin;) {
      T* target = message_gradient + place(position);
      context.store(target, context.load(target) * product);
      product *= context.load(messages + place(position));
    }
  }
};

template <typename Queue, typename T>
void product_gradient(Queue& queue, const ProductGradient<T>& body) {
  launch_threads(queue, "product_gradient", body.rows * body.width, body);
}

}  // namespace bough::simt
