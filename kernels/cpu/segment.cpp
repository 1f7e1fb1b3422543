#include "kernels/cpu/segment.h"

#include <algorithm>

#include "bough/core/parallel.h"

namespace bough {
namespace {

template <typename T>
void spread_row(const SegmentGradient<T>& gradient, std::int64_t segment, std::int64_t row, T* values) {
  const T* from = gradient.gradient[segment];
  const std::int64_t width = gradient.gradient.width;
  if (gradient.arg_indices != nullptr) {
    const std::int32_t* arg_indices = gradient.arg_indices + segment * width;
    for (std::int64_t i = 0; i < width; ++i) values[i] = arg_indices[i] == row ? from[i] : T{0};
  } else if (gradient.mean) {
    const std::int64_t* offsets = gradient.segments.offsets + segment;
    const T count = static_cast<T>(offsets[1] - offsets[0]);
    for (std::int64_t i = 0; i < width; ++i) values[i] = from[i] / count;
  } else {
    std::copy_n(from, width, values);
  }
}

}  // namespace

template <typename T>
void segment_reduce_backward(Cpu, const SegmentGradient<T>& gradient, Rows<T> values) {
  const std::int64_t* first = gradient.segments.offsets;
  const std::int64_t* last = first + gradient.segments.rows;
  parallel_chunks(values.count, rows_per_chunk(values.width, 1 << 16), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t segment = std::upper_bound(first, last, begin) - first - 1;
    for (std::int64_t row = begin; row < end; ++row) {
      while (first[segment + 1] <= row) ++segment;
      spread_row(gradient, segment, row, values[row]);
    }
  });
}

template void segment_reduce_backward(Cpu, const SegmentGradient<float>&, Rows<float>);
template void segment_reduce_backward(Cpu, const SegmentGradient<double>&, Rows<double>);

}  // namespace bough
