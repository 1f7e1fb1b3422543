#include "kernels/cpu/linear.h"

#include <algorithm>

#include "bough/core/parallel.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/dense_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// One row: dz if wanted, and sums += dz if wanted; room for sums is a whole number of vectors.
template <typename T, typename Function>
HWY_INLINE void backward_row(const Function& function, const T* saved, const T* dy, T* dz, T* sums,
                             std::int64_t width) {
  const hn::ScalableTag<T> d;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  std::int64_t j = 0;
  for (; j + lanes <= width; j += lanes) {
    const auto gradient = function.gradient(d, hn::LoadU(d, saved + j), hn::LoadU(d, dy + j));
    if (dz != nullptr) hn::StoreU(gradient, d, dz + j);
    if (sums != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, sums + j), gradient), d, sums + j);
  }
  if (j == width) return;
  HWY_ALIGN T last_saved[lanes] = {};
  HWY_ALIGN T last_dy[lanes] = {};
  HWY_ALIGN T last_dz[lanes];
  std::copy(saved + j, saved + width, last_saved);
  std::copy(dy + j, dy + width, last_dy);
  const auto gradient = function.gradient(d, hn::Load(d, last_saved), hn::Load(d, last_dy));
  hn::Store(gradient, d, last_dz);
  if (dz != nullptr) std::copy_n(last_dz, width - j, dz + j);
  if (sums != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, sums + j), gradient), d, sums + j);
}

template <typename T>
void backward_rows(Activation activation, Rows<const T> saved, Rows<const T> dy, Rows<T> dz, T* sums) {
  visit_activation(activation, [&](auto function) {
    for (std::int64_t i = 0; i < dy.count; ++i) {
      backward_row(function, saved[i], dy[i], dz.data == nullptr ? nullptr : dz[i], sums, dy.width);
    }
  });
}

void backward_rows_float(Activation activation, Rows<const float> saved, Rows<const float> dy, Rows<float> dz,
                         float* sums) {
  backward_rows(activation, saved, dy, dz, sums);
}
void backward_rows_double(Activation activation, Rows<const double> saved, Rows<const double> dy, Rows<double> dz,
                          double* sums) {
  backward_rows(activation, saved, dy, dz, sums);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {
namespace {

HWY_EXPORT(backward_rows_float);
HWY_EXPORT(backward_rows_double);

// Rows are added up in at most so many chunks, which bounds the memory for their sums.
constexpr std::int64_t max_chunks = 64;

template <typename T>
Rows<T> row_range(Rows<T> rows, std::int64_t begin, std::int64_t end) {
  return {rows.data == nullptr ? nullptr : rows[begin], end - begin, rows.width};
}

}  // namespace

template <typename T>
void linear_backward(Cpu, Activation activation, Rows<const T> saved, Rows<const T> dy, Rows<T> dz, T* sums) {
  const std::int64_t chunk = std::max(rows_per_chunk(dy.width), num_chunks(dy.count, max_chunks));
  const std::int64_t pitch = num_chunks(dy.width, 64) * 64;
  const Scratch<T> partial(sums == nullptr ? 0 : num_chunks(dy.count, chunk) * pitch);
  std::fill_n(partial.data(), partial.size(), T{0});
  parallel_chunks(dy.count, chunk, [&](std::int64_t begin, std::int64_t end) {
    const auto backward = [] {
      if constexpr (std::is_same_v<T, float>)
        return HWY_DYNAMIC_DISPATCH(backward_rows_float);
      else
        return HWY_DYNAMIC_DISPATCH(backward_rows_double);
    }();
    backward(activation, row_range(saved, begin, end), row_range(dy, begin, end), row_range(dz, begin, end),
             sums == nullptr ? nullptr : partial.data() + begin / chunk * pitch);
  });
  if (sums == nullptr) return;
  std::fill_n(sums, dy.width, T{0});
  for (std::int64_t number = 0; number < num_chunks(dy.count, chunk); ++number) {
    for (std::int64_t j = 0; j < dy.width; ++j) sums[j] += partial[number * pitch + j];
  }
}

template <typename T>
void column_sums(Cpu cpu, Rows<const T> x, T* sums) {
  linear_backward(cpu, Activation::none, x, x, Rows<T>{}, sums);
}

template void linear_backward(Cpu, Activation, Rows<const float>, Rows<const float>, Rows<float>, float*);
template void linear_backward(Cpu, Activation, Rows<const double>, Rows<const double>, Rows<double>, double*);
template void column_sums(Cpu, Rows<const float>, float*);
template void column_sums(Cpu, Rows<const double>, double*);

}  // namespace bough
#endif
