#include <cmath>
#include <numbers>

#include "bough/core/parallel.h"
#include "bough/core/random.h"
#include "bough/core/tensor.h"

namespace bough {
namespace {

/// Fills the tensor with make(stream block) -> 4 numbers at a time; element i comes from block i/4 whatever the
/// threads.
template <typename MakeFour>
Tensor fill_from_stream(const char* where, const Shape& shape, const TensorOptions& options, MakeFour make_four) {
  const DType dtype = options.dtype.value_or(DType::float32);
  Tensor result = Tensor::empty(shape, dtype);
  const RandomStream stream = (options.generator == nullptr ? default_generator() : *options.generator).next_stream();
  visit_floating(where, dtype, [&]<typename T>(TypeTag<T>) {
    T* out = result.data<T>();
    const std::int64_t count = result.elements();
    parallel_chunks((count + 3) / 4, 8192, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const std::array<double, 4> numbers = make_four(stream.block(static_cast<std::uint64_t>(block)));
        for (std::int64_t i = 4 * block; i < std::min(count, 4 * block + 4); ++i) {
          out[i] = static_cast<T>(numbers[i - 4 * block]);
        }
      }
    });
  });
  return result.to(options.device);
}

/// Uniform in (0, 1): never 0, so that its logarithm is finite.
double open_uniform(std::uint32_t bits) { return (bits + 0.5) * 0x1p-32; }

std::array<double, 4> box_muller(std::array<std::uint32_t, 4> bits) {
  std::array<double, 4> numbers;
  for (int pair = 0; pair < 4; pair += 2) {
    const double radius = std::sqrt(-2 * std::log(open_uniform(bits[pair])));
    const double angle = 2 * std::numbers::pi * open_uniform(bits[pair + 1]);
    numbers[pair] = radius * std::cos(angle);
    numbers[pair + 1] = radius * std::sin(angle);
  }
  return numbers;
}

}  // namespace

Tensor full(const Shape& shape, double value, const TensorOptions& options) {
  Tensor result = Tensor::empty(shape, options.dtype.value_or(DType::float32), options.device);
  result.fill(value);
  return result;
}
Tensor full(const Shape& shape, double value, DType dtype, Device device) {
  return full(shape, value, {.dtype = dtype, .device = device});
}

Tensor zeros(const Shape& shape, const TensorOptions& options) { return full(shape, 0, options); }
Tensor zeros(const Shape& shape, DType dtype, Device device) { return full(shape, 0, dtype, device); }
Tensor ones(const Shape& shape, const TensorOptions& options) { return full(shape, 1, options); }
Tensor ones(const Shape& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }

Tensor arange(std::int64_t count, const TensorOptions& options) {
  const DType dtype = options.dtype.value_or(DType::int64);
  Tensor result = Tensor::empty({count}, dtype);
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    T* out = result.data<T>();
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(i);
  });
  return result.to(options.device);
}
Tensor arange(std::int64_t count, DType dtype, Device device) {
  return arange(count, {.dtype = dtype, .device = device});
}

Tensor empty_like(const Tensor& like) { return Tensor::empty(like.shape(), like.dtype(), like.device()); }
Tensor zeros_like(const Tensor& like) { return zeros(like.shape(), like.dtype(), like.device()); }

Tensor randn(const Shape& shape, const TensorOptions& options) {
  return fill_from_stream("randn", shape, options, box_muller);
}
Tensor randn(const Shape& shape, DType dtype) { return randn(shape, {.dtype = dtype}); }

Tensor rand_uniform(const Shape& shape, double low, double high, const TensorOptions& options) {
  return fill_from_stream("rand_uniform", shape, options, [=](std::array<std::uint32_t, 4> bits) {
    std::array<double, 4> numbers;
    for (int i = 0; i < 4; ++i) numbers[i] = low + (high - low) * (bits[i] >> 8) * 0x1p-24;
    return numbers;
  });
}
Tensor rand_uniform(const Shape& shape, double low, double high, DType dtype) {
  return rand_uniform(shape, low, high, {.dtype = dtype});
}

Tensor rand(const Shape& shape, const TensorOptions& options) { return rand_uniform(shape, 0, 1, options); }

RandomGenerator& default_generator() {
  // One for each thread, so that threads that train side by side neither race nor disturb each other's numbers.
  thread_local RandomGenerator generator;
  return generator;
}

void manual_seed(std::uint64_t seed) { default_generator() = RandomGenerator(seed); }

}  // namespace bough
