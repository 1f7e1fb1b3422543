#pragma once

#include "bough/core/tensor.h"

namespace bough::test {

/// Standard normal for floats, -9..9 for integers, a fair coin for bool; the same numbers for the same arguments.
Tensor random_tensor(const Shape& shape, DType dtype = DType::float32, std::uint64_t seed = 1);

/// Uniform in [low, high); floats only.
Tensor random_uniform(const Shape& shape, double low, double high, DType dtype = DType::float32,
                      std::uint64_t seed = 1);

/// Whole numbers in [low, high), for indices.
Tensor random_indices(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype = DType::int64,
                      std::uint64_t seed = 1);

/// Distinct values spaced by at least 0.1 in random order: for gradients of functions with ties or kinks at equality.
Tensor random_distinct(const Shape& shape, DType dtype = DType::float32, std::uint64_t seed = 1);

}  // namespace bough::test
