#include "kernels/cpu/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bough/core/parallel.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/log_sum_exp-inl.h"
#include "kernels/cpu/row_loop-inl.h"
#include "kernels/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Everything is measured from the largest score, so that scores of any size keep their precision:
/// loss = log(row_sum) - sum(q * (x - row_max)) with row_sum = sum(exp(x - row_max)), because q sums to 1.
template <typename T>
T loss_of_row(const T* x, std::int64_t width, std::int64_t target, double smoothing, T* normalizer) {
  const hn::ScalableTag<T> d;
  const simd::LogSumExp<T> lse = simd::log_sum_exp(x, width);
  normalizer[0] = lse.row_max;
  normalizer[1] = std::log(lse.row_sum);
  if (lse.masked()) return std::numeric_limits<T>::infinity();
  double hit = x[target] - lse.row_max;
  if (smoothing > 0) {
    const auto row_max = hn::Set(d, lse.row_max);
    const T differences = simd::sum_row(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
      return hn::Sub(access.load(d, x + i, lse.row_max), row_max);
    });
    // Without the test, complete smoothing would multiply a score of -inf by zero.
    hit = (smoothing < 1 ? (1 - smoothing) * hit : 0.0) + smoothing / static_cast<double>(width) * differences;
  }
  return static_cast<T>(static_cast<double>(normalizer[1]) - hit);
}

template <typename T>
double losses_of_rows(Rows<const T> logits, const ClassTargets& targets, std::span<T> losses, Rows<T> normalizers) {
  const std::int64_t chunk = rows_per_chunk(logits.width);
  const Scratch<double> sums(num_chunks(logits.count, chunk));
  parallel_chunks(logits.count, chunk, [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t target = targets.classes[row];
      losses[row] = 0;
      if (target == targets.ignored) continue;
      losses[row] = loss_of_row(logits[row], logits.width, target, targets.smoothing, normalizers[row]);
      sum += losses[row];
    }
    sums[begin / chunk] = sum;
  });
  return std::accumulate(sums.data(), sums.data() + sums.size(), 0.0);
}

template <typename T>
void gradients_of_rows(Rows<const T> logits, const ClassTargets& targets, Rows<const T> normalizers,
                       std::span<const T> dy, double scale, Rows<T> gradient) {
  const hn::ScalableTag<T> d;
  const std::int64_t width = logits.width;
  parallel_chunks(logits.count, rows_per_chunk(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      T* out = gradient[row];
      const std::int64_t target = targets.classes[row];
      if (target == targets.ignored) {
        std::fill_n(out, width, T{0});
        continue;
      }
      const T* x = logits[row];
      const T* normalizer = normalizers[row];
      const double factor = scale * dy[dy.size() == 1 ? 0 : row];
      const auto row_factor = hn::Set(d, static_cast<T>(factor));
      const auto spread = hn::Set(d, static_cast<T>(factor * targets.smoothing / static_cast<double>(width)));
      // A row of only -inf has no probabilities: relative to anything finite all of them are 0.
      const bool masked = normalizer[1] == simd::minus_infinity<T>;
      const auto row_max = hn::Set(d, normalizer[0]), log_row_sum = hn::Set(d, masked ? T{0} : normalizer[1]);
      simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
        const auto p = simd::exp_of_nonpositive(d, hn::Sub(hn::Sub(access.load(d, x + i, T{0}), row_max), log_row_sum));
        access.store(hn::MulSub(p, row_factor, spread), d, out + i);
      });
      out[target] -= static_cast<T>(factor * (1 - targets.smoothing));
    }
  });
}

}  // namespace

double cross_entropy_float(Rows<const float> logits, const ClassTargets& targets, std::span<float> losses,
                           Rows<float> normalizers) {
  return losses_of_rows(logits, targets, losses, normalizers);
}
double cross_entropy_double(Rows<const double> logits, const ClassTargets& targets, std::span<double> losses,
                            Rows<double> normalizers) {
  return losses_of_rows(logits, targets, losses, normalizers);
}
void cross_entropy_backward_float(Rows<const float> logits, const ClassTargets& targets, Rows<const float> normalizers,
                                  std::span<const float> dy, double scale, Rows<float> gradient) {
  gradients_of_rows(logits, targets, normalizers, dy, scale, gradient);
}
void cross_entropy_backward_double(Rows<const double> logits, const ClassTargets& targets,
                                   Rows<const double> normalizers, std::span<const double> dy, double scale,
                                   Rows<double> gradient) {
  gradients_of_rows(logits, targets, normalizers, dy, scale, gradient);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(cross_entropy_float);
HWY_EXPORT(cross_entropy_double);
HWY_EXPORT(cross_entropy_backward_float);
HWY_EXPORT(cross_entropy_backward_double);

template <>
double cross_entropy(Cpu, Rows<const float> logits, const ClassTargets& targets, std::span<float> losses,
                     Rows<float> normalizers) {
  return HWY_DYNAMIC_DISPATCH(cross_entropy_float)(logits, targets, losses, normalizers);
}
template <>
double cross_entropy(Cpu, Rows<const double> logits, const ClassTargets& targets, std::span<double> losses,
                     Rows<double> normalizers) {
  return HWY_DYNAMIC_DISPATCH(cross_entropy_double)(logits, targets, losses, normalizers);
}
template <>
void cross_entropy_backward(Cpu, Rows<const float> logits, const ClassTargets& targets, Rows<const float> normalizers,
                            std::span<const float> dy, double scale, Rows<float> gradient) {
  HWY_DYNAMIC_DISPATCH(cross_entropy_backward_float)(logits, targets, normalizers, dy, scale, gradient);
}
template <>
void cross_entropy_backward(Cpu, Rows<const double> logits, const ClassTargets& targets, Rows<const double> normalizers,
                            std::span<const double> dy, double scale, Rows<double> gradient) {
  HWY_DYNAMIC_DISPATCH(cross_entropy_backward_double)(logits, targets, normalizers, dy, scale, gradient);
}

}  // namespace bough
#endif
