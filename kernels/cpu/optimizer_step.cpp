#include "kernels/cpu/optimizer_step.h"

#include "bough/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer_step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls body(tag, i) for whole vectors and then for single elements, so that the tail runs the same arithmetic.
template <typename T, typename Body>
void for_each_vector(std::int64_t count, const Body& body) {
  const hn::ScalableTag<T> wide;
  const hn::CappedTag<T, 1> single;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(wide, i);
  for (; i < count; ++i) body(single, i);
}

template <typename T>
void adam_chunk(const AdamChunk<T>& chunk, const AdamStep& step) {
  const T gradient_scale = static_cast<T>(step.gradient_scale);
  const bool coupled = chunk.decays && !step.decoupled_weight_decay;
  const T coupled_decay = coupled ? static_cast<T>(step.weight_decay) : T{0};
  const T beta1 = static_cast<T>(step.beta1), beta2 = static_cast<T>(step.beta2);
  const T rest1 = static_cast<T>(1 - step.beta1), rest2 = static_cast<T>(1 - step.beta2);
  const std::array<double, 3> changing = changing_numbers_of(step);
  const T shrink = chunk.decays ? static_cast<T>(changing[0]) : T{1}, rate = static_cast<T>(changing[1]);
  const T root_scale = static_cast<T>(changing[2]);
  const T epsilon = static_cast<T>(step.epsilon);
  for_each_vector<T>(chunk.count, [&](auto d, std::int64_t i) {
    const auto p = hn::LoadU(d, chunk.parameter + i);
    const auto g =
        hn::MulAdd(hn::Set(d, coupled_decay), p, hn::Mul(hn::Set(d, gradient_scale), hn::LoadU(d, chunk.gradient + i)));
    const auto m = hn::MulAdd(hn::Set(d, beta1), hn::LoadU(d, chunk.first_moment + i), hn::Mul(hn::Set(d, rest1), g));
    const auto v =
        hn::MulAdd(hn::Set(d, beta2), hn::LoadU(d, chunk.second_moment + i), hn::Mul(hn::Set(d, rest2), hn::Mul(g, g)));
    const auto divisor = hn::MulAdd(hn::Sqrt(v), hn::Set(d, root_scale), hn::Set(d, epsilon));
    const auto change = hn::Div(hn::Mul(hn::Set(d, rate), m), divisor);
    hn::StoreU(m, d, chunk.first_moment + i);
    hn::StoreU(v, d, chunk.second_moment + i);
    hn::StoreU(hn::MulSub(hn::Set(d, shrink), p, change), d, chunk.parameter + i);
  });
}

template <typename T>
void sgd_chunk(const SgdChunk<T>& chunk, const SgdStep& step) {
  const T gradient_scale = static_cast<T>(step.gradient_scale);
  const T decay = chunk.decays ? static_cast<T>(step.weight_decay) : T{0};
  const T momentum = static_cast<T>(step.momentum), rate = static_cast<T>(step.learning_rate);
  for_each_vector<T>(chunk.count, [&](auto d, std::int64_t i) {
    const auto p = hn::LoadU(d, chunk.parameter + i);
    const auto g =
        hn::MulAdd(hn::Set(d, decay), p, hn::Mul(hn::Set(d, gradient_scale), hn::LoadU(d, chunk.gradient + i)));
    auto direction = g;
    if (chunk.velocity != nullptr) {
      const auto velocity = hn::MulAdd(hn::Set(d, momentum), hn::LoadU(d, chunk.velocity + i), g);
      hn::StoreU(velocity, d, chunk.velocity + i);
      direction = step.nesterov ? hn::MulAdd(hn::Set(d, momentum), velocity, g) : velocity;
    }
    hn::StoreU(hn::NegMulAdd(hn::Set(d, rate), direction, p), d, chunk.parameter + i);
  });
}

/// Squares of float are exact in double, so the sum is good to the last bits of a float whatever the number of
/// elements.
double squared_sum_float(const float* data, std::int64_t count) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  auto sum = hn::Zero(wide);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::PromoteTo(wide, hn::LoadU(narrow, data + i));
    sum = hn::MulAdd(x, x, sum);
  }
  double total = hn::GetLane(hn::SumOfLanes(wide, sum));
  for (; i < count; ++i) total += static_cast<double>(data[i]) * data[i];
  return total;
}

double squared_sum_double(const double* data, std::int64_t count) {
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) total += data[i] * data[i];
  return total;
}

template <typename T>
void scale_chunk(const TensorChunk<T>& chunk, double factor) {
  for_each_vector<T>(chunk.count, [&](auto d, std::int64_t i) {
    hn::StoreU(hn::Mul(hn::Set(d, static_cast<T>(factor)), hn::LoadU(d, chunk.data + i)), d, chunk.data + i);
  });
}

void adam_float(const AdamChunk<float>& chunk, const AdamStep& step) { adam_chunk(chunk, step); }
void adam_double(const AdamChunk<double>& chunk, const AdamStep& step) { adam_chunk(chunk, step); }
void sgd_float(const SgdChunk<float>& chunk, const SgdStep& step) { sgd_chunk(chunk, step); }
void sgd_double(const SgdChunk<double>& chunk, const SgdStep& step) { sgd_chunk(chunk, step); }
void scale_float(const TensorChunk<float>& chunk, double factor) { scale_chunk(chunk, factor); }
void scale_double(const TensorChunk<double>& chunk, double factor) { scale_chunk(chunk, factor); }

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(adam_float);
HWY_EXPORT(adam_double);
HWY_EXPORT(sgd_float);
HWY_EXPORT(sgd_double);
HWY_EXPORT(squared_sum_float);
HWY_EXPORT(squared_sum_double);
HWY_EXPORT(scale_float);
HWY_EXPORT(scale_double);

namespace {

template <typename Chunks, typename Body>
void for_each_chunk(const Chunks& chunks, const Body& body) {
  parallel_chunks(static_cast<std::int64_t>(chunks.size()), 1,
                  [&](std::int64_t begin, std::int64_t) { body(static_cast<std::size_t>(begin)); });
}

}  // namespace

template <typename T>
void adam_update(Cpu, std::span<const AdamChunk<T>> chunks, const AdamStep& step) {
  for_each_chunk(chunks, [&](std::size_t i) {
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(adam_float)(chunks[i], step);
    } else {
      HWY_DYNAMIC_DISPATCH(adam_double)(chunks[i], step);
    }
  });
}

template <typename T>
void sgd_update(Cpu, std::span<const SgdChunk<T>> chunks, const SgdStep& step) {
  for_each_chunk(chunks, [&](std::size_t i) {
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(sgd_float)(chunks[i], step);
    } else {
      HWY_DYNAMIC_DISPATCH(sgd_double)(chunks[i], step);
    }
  });
}

template <typename T>
void squared_sums(Cpu, std::span<const TensorChunk<const T>> chunks, std::span<double> sums) {
  for_each_chunk(chunks, [&](std::size_t i) {
    if constexpr (std::is_same_v<T, float>) {
      sums[i] = HWY_DYNAMIC_DISPATCH(squared_sum_float)(chunks[i].data, chunks[i].count);
    } else {
      sums[i] = HWY_DYNAMIC_DISPATCH(squared_sum_double)(chunks[i].data, chunks[i].count);
    }
  });
}

template <typename T>
void scale(Cpu, std::span<const TensorChunk<T>> chunks, double factor) {
  for_each_chunk(chunks, [&](std::size_t i) {
    if constexpr (std::is_same_v<T, float>) {
      HWY_DYNAMIC_DISPATCH(scale_float)(chunks[i], factor);
    } else {
      HWY_DYNAMIC_DISPATCH(scale_double)(chunks[i], factor);
    }
  });
}

template void adam_update(Cpu, std::span<const AdamChunk<float>>, const AdamStep&);
template void adam_update(Cpu, std::span<const AdamChunk<double>>, const AdamStep&);
template void sgd_update(Cpu, std::span<const SgdChunk<float>>, const SgdStep&);
template void sgd_update(Cpu, std::span<const SgdChunk<double>>, const SgdStep&);
template void squared_sums(Cpu, std::span<const TensorChunk<const float>>, std::span<double>);
template void squared_sums(Cpu, std::span<const TensorChunk<const double>>, std::span<double>);
template void scale(Cpu, std::span<const TensorChunk<float>>, double);
template void scale(Cpu, std::span<const TensorChunk<double>>, double);

}  // namespace bough
#endif
