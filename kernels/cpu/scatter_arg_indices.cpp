#include "kernels/cpu/scatter_arg_indices.h"

#include <algorithm>

#include "bough/core/parallel.h"

namespace bough {
namespace {

/// Features that one task takes of all rows: few tasks with long runs, since each walks over all memory of the rows.
constexpr std::int64_t features_at_once = 128;

}  // namespace

template <typename T>
void scatter_arg_indices(Cpu, Rows<const T> gradient, Rows<const std::int32_t> arg_indices, const std::int32_t* origins,
                         Rows<T> result) {
  parallel_chunks(result.elements(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    std::fill(result.data + begin, result.data + end, T{0});
  });
  const auto scatter = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < gradient.count; ++row) {
      for (std::int64_t feature = begin; feature < end; ++feature) {
        const std::int32_t edge = arg_indices[row][feature];
        if (edge < 0) continue;
        result[origins == nullptr ? edge : origins[edge]][feature] += gradient[row][feature];
      }
    }
  };
  const bool small = gradient.elements() < (1 << 14);
  parallel_chunks(gradient.width, small ? gradient.width : features_at_once, scatter);
}

template void scatter_arg_indices(Cpu, Rows<const float>, Rows<const std::int32_t>, const std::int32_t*, Rows<float>);
template void scatter_arg_indices(Cpu, Rows<const double>, Rows<const std::int32_t>, const std::int32_t*, Rows<double>);

}  // namespace bough
