#include "kernels/cpu/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "bough/core/parallel.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/row_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void add_rows(const T* a, const T* b, T* sum, std::int64_t width) {
  const hn::ScalableTag<T> d;
  simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
    access.store(hn::Add(access.load(d, a + i, T{0}), access.load(d, b + i, T{0})), d, sum + i);
  });
}

/// y may be x.
template <typename T>
void normalize_row(const T* x, const T* weight, const T* bias, double epsilon, T* y, T* statistics,
                   std::int64_t width) {
  const hn::ScalableTag<T> d;
  const T total =
      simd::sum_row(d, width, [&](std::int64_t i, auto access) HWY_ATTR { return access.load(d, x + i, T{0}); });
  const T mean = total / static_cast<T>(width);
  const auto center = hn::Set(d, mean);
  const T squares = simd::sum_row(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
    const auto difference = hn::Sub(access.load(d, x + i, mean), center);
    return hn::Mul(difference, difference);
  });
  const double variance = static_cast<double>(squares) / static_cast<double>(width);
  const T inverse = static_cast<T>(1 / std::sqrt(variance + epsilon));
  const auto scale = hn::Set(d, inverse);
  simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
    const auto normalized = hn::Mul(hn::Sub(access.load(d, x + i, T{0}), center), scale);
    const auto result = hn::MulAdd(normalized, access.load(d, weight + i, T{0}), access.load(d, bias + i, T{0}));
    access.store(result, d, y + i);
  });
  statistics[0] = mean;
  statistics[1] = inverse;
}

template <typename T>
void normalize_rows(Rows<const T> x, const T* residual, const T* weight, const T* bias, double epsilon, T* sum, T* y,
                    Rows<T> statistics) {
  const std::int64_t width = x.width;
  parallel_chunks(x.count, rows_per_chunk(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* source = x[row];
      if (residual != nullptr) {
        // An unwanted sum is made where the result will be.
        T* place = (sum != nullptr ? sum : y) + row * width;
        add_rows(source, residual + row * width, place, width);
        source = place;
      }
      normalize_row(source, weight, bias, epsilon, y + row * width, statistics[row], width);
    }
  });
}

/// The two means over a row that its gradient needs, of g = dy * weight and of g * n, n being the normalised row.
template <typename T>
struct RowMeans {
  T g;
  T gn;
};

/// Adds what the row gives to dweight and dbias on the way, if they are wanted.
template <bool parameters, typename T>
RowMeans<T> means_of_row(const T* x, const T* weight, const T* statistics, const T* dy, T* dweight, T* dbias,
                         std::int64_t width) {
  const hn::ScalableTag<T> d;
  const auto mean = hn::Set(d, statistics[0]), inverse = hn::Set(d, statistics[1]);
  auto g_sum = hn::Zero(d), gn_sum = hn::Zero(d);
  simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
    const auto normalized = hn::Mul(hn::Sub(access.load(d, x + i, T{0}), mean), inverse);
    const auto gradient = access.load(d, dy + i, T{0});
    const auto g = hn::Mul(gradient, access.load(d, weight + i, T{0}));
    g_sum = hn::Add(g_sum, g);
    gn_sum = hn::MulAdd(g, normalized, gn_sum);
    if constexpr (parameters) {
      access.store(hn::MulAdd(gradient, normalized, access.load(d, dweight + i, T{0})), d, dweight + i);
      access.store(hn::Add(gradient, access.load(d, dbias + i, T{0})), d, dbias + i);
    }
  });
  const auto count = static_cast<T>(width);
  return {hn::GetLane(hn::SumOfLanes(d, g_sum)) / count, hn::GetLane(hn::SumOfLanes(d, gn_sum)) / count};
}

template <bool with_sum, typename T>
void gradient_of_row(const T* x, const T* weight, const T* statistics, const T* dy, const T* dsum, RowMeans<T> means,
                     T* dx, std::int64_t width) {
  const hn::ScalableTag<T> d;
  const auto mean = hn::Set(d, statistics[0]), inverse = hn::Set(d, statistics[1]);
  const auto g_mean = hn::Set(d, means.g), gn_mean = hn::Set(d, means.gn);
  simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
    const auto normalized = hn::Mul(hn::Sub(access.load(d, x + i, T{0}), mean), inverse);
    const auto g = hn::Mul(access.load(d, dy + i, T{0}), access.load(d, weight + i, T{0}));
    const auto centered = hn::NegMulAdd(normalized, gn_mean, hn::Sub(g, g_mean));
    if constexpr (with_sum) {
      access.store(hn::MulAdd(centered, inverse, access.load(d, dsum + i, T{0})), d, dx + i);
    } else {
      access.store(hn::Mul(centered, inverse), d, dx + i);
    }
  });
}

template <typename T>
void gradients_of_rows(Rows<const T> x, const T* weight, Rows<const T> statistics, const T* dy, const T* dsum,
                       const LayerNormGradients<T>& gradients) {
  const std::int64_t width = x.width;
  // At most 64 chunks, each with sums of its own for weight and bias.
  const std::int64_t chunk = std::max(rows_per_chunk(width), num_chunks(x.count, 64));
  const std::int64_t chunks = num_chunks(x.count, chunk);
  const bool parameters = gradients.dweight != nullptr;
  const Scratch<T> partial(parameters ? chunks * 2 * width : 0);
  parallel_chunks(x.count, chunk, [&](std::int64_t begin, std::int64_t end) {
    T* dweight = parameters ? partial.data() + begin / chunk * 2 * width : nullptr;
    if (parameters) std::fill_n(dweight, 2 * width, T{0});
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * width;
      const auto means_of = parameters ? means_of_row<true, T> : means_of_row<false, T>;
      const RowMeans<T> means =
          means_of(x[row], weight, statistics[row], dy + at, dweight, parameters ? dweight + width : nullptr, width);
      if (gradients.dx == nullptr) continue;
      if (dsum != nullptr) {
        gradient_of_row<true>(x[row], weight, statistics[row], dy + at, dsum + at, means, gradients.dx + at, width);
      } else {
        gradient_of_row<false, T>(x[row], weight, statistics[row], dy + at, nullptr, means, gradients.dx + at, width);
      }
    }
  });
  if (!parameters) return;
  std::fill_n(gradients.dweight, width, T{0});
  std::fill_n(gradients.dbias, width, T{0});
  for (std::int64_t number = 0; number < chunks; ++number) {
    const T* sums = partial.data() + number * 2 * width;
    add_rows<T>(gradients.dweight, sums, gradients.dweight, width);
    add_rows<T>(gradients.dbias, sums + width, gradients.dbias, width);
  }
}

}  // namespace

void layer_norm_float(Rows<const float> x, const float* residual, const float* weight, const float* bias,
                      double epsilon, float* sum, float* y, Rows<float> statistics) {
  normalize_rows(x, residual, weight, bias, epsilon, sum, y, statistics);
}
void layer_norm_double(Rows<const double> x, const double* residual, const double* weight, const double* bias,
                       double epsilon, double* sum, double* y, Rows<double> statistics) {
  normalize_rows(x, residual, weight, bias, epsilon, sum, y, statistics);
}
void layer_norm_backward_float(Rows<const float> x, const float* weight, Rows<const float> statistics, const float* dy,
                               const float* dsum, const LayerNormGradients<float>& gradients) {
  gradients_of_rows(x, weight, statistics, dy, dsum, gradients);
}
void layer_norm_backward_double(Rows<const double> x, const double* weight, Rows<const double> statistics,
                                const double* dy, const double* dsum, const LayerNormGradients<double>& gradients) {
  gradients_of_rows(x, weight, statistics, dy, dsum, gradients);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(layer_norm_float);
HWY_EXPORT(layer_norm_double);
HWY_EXPORT(layer_norm_backward_float);
HWY_EXPORT(layer_norm_backward_double);

template <>
void layer_norm(Cpu, Rows<const float> x, const float* residual, const float* weight, const float* bias, double epsilon,
                float* sum, float* y, Rows<float> statistics) {
  HWY_DYNAMIC_DISPATCH(layer_norm_float)(x, residual, weight, bias, epsilon, sum, y, statistics);
}
template <>
void layer_norm(Cpu, Rows<const double> x, const double* residual, const double* weight, const double* bias,
                double epsilon, double* sum, double* y, Rows<double> statistics) {
  HWY_DYNAMIC_DISPATCH(layer_norm_double)(x, residual, weight, bias, epsilon, sum, y, statistics);
}
template <>
void layer_norm_backward(Cpu, Rows<const float> x, const float* weight, Rows<const float> statistics, const float* dy,
                         const float* dsum, const LayerNormGradients<float>& gradients) {
  HWY_DYNAMIC_DISPATCH(layer_norm_backward_float)(x, weight, statistics, dy, dsum, gradients);
}
template <>
void layer_norm_backward(Cpu, Rows<const double> x, const double* weight, Rows<const double> statistics,
                         const double* dy, const double* dsum, const LayerNormGradients<double>& gradients) {
  HWY_DYNAMIC_DISPATCH(layer_norm_backward_double)(x, weight, statistics, dy, dsum, gradients);
}

}  // namespace bough
#endif
