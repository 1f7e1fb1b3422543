#include "src/core/accumulate.h"

#include "bough/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/core/accumulate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void accumulate_range(const T* source, T scale, T* target, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, source + i), hn::LoadU(d, target + i)), d, target + i);
  }
  for (; i < count; ++i) target[i] += scale * source[i];
}

void accumulate_float(const float* source, float scale, float* target, std::int64_t count) {
  accumulate_range(source, scale, target, count);
}
void accumulate_double(const double* source, double scale, double* target, std::int64_t count) {
  accumulate_range(source, scale, target, count);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(accumulate_float);
HWY_EXPORT(accumulate_double);

template <>
void accumulate_elements(const float* source, float scale, float* target, std::int64_t count) {
  parallel_chunks(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(accumulate_float)(source + begin, scale, target + begin, end - begin);
  });
}
template <>
void accumulate_elements(const double* source, double scale, double* target, std::int64_t count) {
  parallel_chunks(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(accumulate_double)(source + begin, scale, target + begin, end - begin);
  });
}
template <>
void accumulate_elements(const bfloat16* source, float scale, bfloat16* target, std::int64_t count) {
  parallel_chunks(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) target[i] = bfloat16(target[i] + scale * source[i]);
  });
}

}  // namespace bough
#endif
