#pragma once

#include "kernels/simt/matrix_unit.h"
#include "tests/emulator/engine/context.h"

namespace bough::emulator {

/// A warp's 16 x 16 numbers: each lane has eight neighbours of a row.
template <typename T>
struct LanePart {
  static constexpr int size = 8, per_row = simt::matrix_size / size;
  T values[size] = {};
};

}  // namespace bough::emulator

/// Products of matrices on the emulator: lanes read and write shared memory by its rules, and meet before every step.
template <>
struct bough::simt::MatrixUnit<bough::emulator::Context> {
  using Context = emulator::Context;
  using Site = std::source_location;
  template <typename T>
  using Part = emulator::LanePart<T>;

  static constexpr bool available = true;
  using Left = Part<bfloat16>;
  struct Right : Part<bfloat16> {};
  struct RightOfRows : Part<bfloat16> {};
  using Sums = Part<float>;

  template <typename T>
  static Left left(Context& context, const emulator::SharedArray<T>& array, int first, int stride,
                   Site site = Site::current()) {
    return loaded(context, array, first, stride, site);
  }
  template <typename T>
  static Right right(Context& context, const emulator::SharedArray<T>& array, int first, int stride,
                     Site site = Site::current()) {
    return {loaded(context, array, first, stride, site)};
  }
  template <typename T>
  static RightOfRows right_of_rows(Context& context, const emulator::SharedArray<T>& array, int first, int stride,
                                   Site site = Site::current()) {
    return {loaded(context, array, first, stride, site)};
  }

  static void add_product(Context& context, Sums& sums, const Left& left, const Right& right,
                          Site site = Site::current()) {
    add(context, sums, left, right, site, [](int k, int column) { return std::pair(k, column); });
  }
  static void add_product(Context& context, Sums& sums, const Left& left, const RightOfRows& right,
                          Site site = Site::current()) {
    add(context, sums, left, right, site, [](int k, int column) { return std::pair(column, k); });
  }

  template <typename T>
  static void store(Context& context, const Sums& sums, const emulator::SharedArray<T>& array, int first, int stride,
                    Site site = Site::current()) {
    constexpr int per_element = require_elements<T, float>(), elements = Sums::size / per_element;
    require_aligned(context, array, first, stride);
    context.gather(std::byte{}, "store of a matrix", site);
    for (int i = 0; i < elements; ++i) {
      T element;
      std::memcpy(static_cast<void*>(&element), sums.values + i * per_element, sizeof(T));
      array.set(place(context, first, stride, elements) + i, element, site);
    }
  }

 private:
  template <typename T, typename Number>
  static constexpr int require_elements() {
    static_assert(sizeof(T) % sizeof(Number) == 0 && Part<Number>::size * sizeof(Number) % sizeof(T) == 0);
    return sizeof(T) / sizeof(Number);
  }
  template <typename T>
  static void require_aligned(const Context& context, const emulator::SharedArray<T>& array, int first, int stride) {
    if (array.byte_offset(first) % 32 == 0 && stride * sizeof(T) % 16 == 0) return;
    throw emulator::KernelFault("matrix", "thread " + std::to_string(context.thread()) + " asks for one at byte " +
                                              std::to_string(array.byte_offset(first)) + " of shared memory, " +
                                              std::to_string(stride * sizeof(T)) + " bytes a row");
  }
  /// The first of the elements that a lane has.
  static int place(const Context& context, int first, int stride, int elements) {
    return first + context.lane() / Sums::per_row * stride + context.lane() % Sums::per_row * elements;
  }

  template <typename T>
  static Part<bfloat16> loaded(Context& context, const emulator::SharedArray<T>& array, int first, int stride,
                               Site site) {
    constexpr int per_element = require_elements<T, bfloat16>(), elements = Part<bfloat16>::size / per_element;
    require_aligned(context, array, first, stride);
    context.gather(std::byte{}, "load of a matrix", site);
    Part<bfloat16> part;
    for (int i = 0; i < elements; ++i) {
      const T element = array.get(place(context, first, stride, elements) + i, site);
      std::memcpy(static_cast<void*>(part.values + i * per_element), &element, sizeof(T));
    }
    return part;
  }

  /// held(k, column): the row and column of what was loaded that stands for element [k, column].
  template <typename Held>
  static void add(Context& context, Sums& sums, const Part<bfloat16>& left, const Part<bfloat16>& right, Site site,
                  const Held& held) {
    const auto lefts = context.gather(left, "product of matrices", site);
    const auto rights = context.gather(right, "product of matrices", site);
    const auto element = [](const auto& parts, int row, int column) {
      return float{
          parts[static_cast<std::size_t>(row * Sums::per_row + column / Sums::size)].values[column % Sums::size]};
    };
    const int row = context.lane() / Sums::per_row, first = context.lane() % Sums::per_row * Sums::size;
    for (int i = 0; i < Sums::size; ++i) {
      for (int k = 0; k < matrix_size; ++k) {
        const auto [held_row, held_column] = held(k, first + i);
        sums.values[i] += element(lefts, row, k) * element(rights, held_row, held_column);
      }
    }
  }
};
