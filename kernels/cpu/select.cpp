#include "kernels/cpu/select.h"

#include <bit>
#include <functional>

#include "bough/core/parallel.h"

// Plain loops: compilers vectorise them for the machine's baseline, which is enough for what memory delivers.

namespace bough {
namespace {

constexpr std::int64_t chunk = 1 << 15;

template <int N, typename Run>
void parallel_runs(const BroadcastLayout<N>& layout, const Run& run) {
  parallel_chunks(layout.elements, chunk,
                  [&](std::int64_t begin, std::int64_t end) { for_each_run(layout, begin, end, run); });
}

/// Calls f with the strides of the last axis as constants, so that each combination becomes a loop of its own.
template <typename F>
void with_constant_stride(std::int64_t stride, const F& f) {
  if (stride == 0) return f(std::integral_constant<std::int64_t, 0>());
  f(std::integral_constant<std::int64_t, 1>());
}

/// mask ? a : b on the bits, without a branch: masks are as good as random, and the loop can be vectorised.
template <typename T>
T blend(bool mask, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  const Bits left = std::bit_cast<Bits>(a), right = std::bit_cast<Bits>(b);
  const Bits all = static_cast<Bits>(Bits{0} - static_cast<Bits>(mask));
  return std::bit_cast<T>(static_cast<Bits>(right ^ ((left ^ right) & all)));
}

template <typename T, typename F>
void compare_with(const F& f, const BroadcastLayout<2>& layout, const T* a, const T* b, bool* result) {
  const int last = layout.rank - 1;
  with_constant_stride(layout.strides[0][last], [&](auto step_a) {
    with_constant_stride(layout.strides[1][last], [&](auto step_b) {
      parallel_runs(layout, [&](std::int64_t position, std::int64_t length, const auto& offsets) {
        const T *left = a + offsets[0], *right = b + offsets[1];
        bool* out = result + position;
        for (std::int64_t i = 0; i < length; ++i) out[i] = f(left[i * step_a()], right[i * step_b()]);
      });
    });
  });
}

}  // namespace

template <typename T>
void compare(Cpu, Comparison comparison, const BroadcastLayout<2>& layout, const T* a, const T* b, bool* result) {
  switch (comparison) {
    case Comparison::equal:
      return compare_with(std::equal_to<T>(), layout, a, b, result);
    case Comparison::not_equal:
      return compare_with(std::not_equal_to<T>(), layout, a, b, result);
    case Comparison::less:
      return compare_with(std::less<T>(), layout, a, b, result);
    case Comparison::less_equal:
      return compare_with(std::less_equal<T>(), layout, a, b, result);
    case Comparison::greater:
      return compare_with(std::greater<T>(), layout, a, b, result);
    case Comparison::greater_equal:
      return compare_with(std::greater_equal<T>(), layout, a, b, result);
  }
}

template <typename T>
void select(Cpu, const BroadcastLayout<3>& layout, const bool* mask, const T* a, const T* b, T* result) {
  const int last = layout.rank - 1;
  with_constant_stride(layout.strides[0][last], [&](auto step_mask) {
    with_constant_stride(layout.strides[1][last], [&](auto step_a) {
      with_constant_stride(layout.strides[2][last], [&](auto step_b) {
        parallel_runs(layout, [&](std::int64_t position, std::int64_t length, const auto& offsets) {
          const bool* choose = mask + offsets[0];
          const T *left = a + offsets[1], *right = b + offsets[2];
          T* out = result + position;
          for (std::int64_t i = 0; i < length; ++i) {
            out[i] = blend(choose[i * step_mask()], left[i * step_a()], right[i * step_b()]);
          }
        });
      });
    });
  });
}

template <typename T>
void repeat(Cpu, const BroadcastLayout<1>& layout, const T* x, T* result) {
  const bool same = layout.strides[0][layout.rank - 1] == 0;
  parallel_runs(layout, [&](std::int64_t position, std::int64_t length, const auto& offsets) {
    const T* from = x + offsets[0];
    if (same) {
      std::fill_n(result + position, length, *from);
    } else {
      std::copy_n(from, length, result + position);
    }
  });
}

template void compare(Cpu, Comparison, const BroadcastLayout<2>&, const float*, const float*, bool*);
template void compare(Cpu, Comparison, const BroadcastLayout<2>&, const double*, const double*, bool*);
template void compare(Cpu, Comparison, const BroadcastLayout<2>&, const std::int32_t*, const std::int32_t*, bool*);
template void compare(Cpu, Comparison, const BroadcastLayout<2>&, const std::int64_t*, const std::int64_t*, bool*);
template void compare(Cpu, Comparison, const BroadcastLayout<2>&, const bool*, const bool*, bool*);

template void select(Cpu, const BroadcastLayout<3>&, const bool*, const float*, const float*, float*);
template void select(Cpu, const BroadcastLayout<3>&, const bool*, const double*, const double*, double*);
template void select(Cpu, const BroadcastLayout<3>&, const bool*, const std::int32_t*, const std::int32_t*,
                     std::int32_t*);
template void select(Cpu, const BroadcastLayout<3>&, const bool*, const std::int64_t*, const std::int64_t*,
                     std::int64_t*);
template void select(Cpu, const BroadcastLayout<3>&, const bool*, const bool*, const bool*, bool*);

template void repeat(Cpu, const BroadcastLayout<1>&, const float*, float*);
template void repeat(Cpu, const BroadcastLayout<1>&, const double*, double*);
template void repeat(Cpu, const BroadcastLayout<1>&, const std::int32_t*, std::int32_t*);
template void repeat(Cpu, const BroadcastLayout<1>&, const std::int64_t*, std::int64_t*);
template void repeat(Cpu, const BroadcastLayout<1>&, const bool*, bool*);

}  // namespace bough
