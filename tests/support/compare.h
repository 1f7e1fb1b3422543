#pragma once

#include <source_location>
#include <vector>

#include "bough/core/tensor.h"

namespace bough::test {

/// |actual - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// What a correct operation that adds up a few hundred terms of size 1 keeps to; exact for integers and bool.
Tolerance tolerance(DType dtype);

template <typename T>
Tolerance tolerance() {
  return tolerance(dtype_of<T>());
}

/// Fails with the worst element, its position and how many others differ. Shapes must be equal; the values of
/// `expected` may have another type (usually float64, from a plain loop). NaN equals NaN, an infinity itself.
void expect_close(const Tensor& actual, const Tensor& expected, Tolerance allowed,
                  std::source_location where = std::source_location::current());
/// With the tolerance of `dtype`: the type the operation computed in.
void expect_close(const Tensor& actual, const Tensor& expected, DType dtype,
                  std::source_location where = std::source_location::current());
/// With the tolerance of the actual tensor's type.
void expect_close(const Tensor& actual, const Tensor& expected,
                  std::source_location where = std::source_location::current());
/// Against values in row-major order.
void expect_close(const Tensor& actual, const std::vector<double>& expected,
                  std::source_location where = std::source_location::current());

/// Fails unless shapes, types and every bit are equal.
void expect_same_bits(const Tensor& actual, const Tensor& expected,
                      std::source_location where = std::source_location::current());
/// The same for each of several tensors.
void expect_same_bits(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                      std::source_location where = std::source_location::current());

}  // namespace bough::test
