#include "tests/support/random_tensor.h"

#include <numeric>
#include <utility>

#include "bough/core/random.h"

namespace bough::test {

Tensor random_tensor(const Shape& shape, DType dtype, std::uint64_t seed) {
  if (dtype == DType::boolean) return random_indices(shape, 0, 2, dtype, seed);
  if (is_integer(dtype)) return random_indices(shape, -9, 10, dtype, seed);
  RandomGenerator generator(seed);
  return randn(shape, {.dtype = dtype, .generator = &generator});
}

Tensor random_uniform(const Shape& shape, double low, double high, DType dtype, std::uint64_t seed) {
  RandomGenerator generator(seed);
  return rand_uniform(shape, low, high, {.dtype = dtype, .generator = &generator});
}

Tensor random_indices(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype, std::uint64_t seed) {
  Tensor result = Tensor::empty(shape, dtype);
  const RandomStream stream{seed, 0};
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    T* out = result.data<T>();
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      out[i] = static_cast<T>(low + static_cast<std::int64_t>(stream(static_cast<std::uint64_t>(i)) %
                                                              static_cast<std::uint64_t>(high - low)));
    }
  });
  return result;
}

Tensor random_distinct(const Shape& shape, DType dtype, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(shape.elements()));
  std::iota(order.begin(), order.end(), -shape.elements() / 2);
  const RandomStream stream{seed, 0};
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream(i) % i]);
  Tensor result = Tensor::empty(shape, dtype);
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      result.data<T>()[i] = static_cast<T>(0.1 * static_cast<double>(order[i]) + 0.05);
    }
  });
  return result;
}

}  // namespace bough::test
