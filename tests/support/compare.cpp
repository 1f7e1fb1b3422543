#include "tests/support/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace bough::test {
namespace {

std::string position_of(std::int64_t index, const Shape& shape) {
  std::vector<std::int64_t> position(shape.rank());
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(position, ", "));
}

/// How far beyond the tolerance: at most 1 is fine, NaN against a number is infinitely far.
double excess(double actual, double expected, Tolerance allowed) {
  if (std::isnan(actual) && std::isnan(expected)) return 0;
  if (actual == expected) return 0;
  const double difference = std::abs(actual - expected);
  const double bound = allowed.absolute + allowed.relative * std::abs(expected);
  if (!std::isfinite(difference) || bound == 0) return INFINITY;
  return difference / bound;
}

void fail(std::source_location where, const std::string& message) {
  ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line())) << message;
}

bool same_shape(const Tensor& actual, const Tensor& expected, std::source_location where) {
  if (actual.defined() && expected.defined() && actual.shape() == expected.shape()) return true;
  const auto text = [](const Tensor& tensor) { return tensor.defined() ? to_string(tensor.shape()) : "undefined"; };
  fail(where, fmt::format("the shape is {}, expected {}", text(actual), text(expected)));
  return false;
}

}  // namespace

Tolerance tolerance(DType dtype) {
  if (dtype == DType::float32) return {.relative = 1e-5, .absolute = 1e-5};
  if (dtype == DType::float64) return {.relative = 1e-12, .absolute = 1e-12};
  return {};
}

void expect_close(const Tensor& actual, const Tensor& expected, Tolerance allowed, std::source_location where) {
  if (!same_shape(actual, expected, where)) return;
  const std::vector<double> have = actual.to_vector<double>(), want = expected.to_vector<double>();
  std::int64_t worst = -1, wrong = 0;
  double worst_excess = 1;
  for (std::size_t i = 0; i < have.size(); ++i) {
    const double distance = excess(have[i], want[i], allowed);
    if (distance <= 1) continue;
    ++wrong;
    if (distance > worst_excess) {
      worst_excess = distance;
      worst = static_cast<std::int64_t>(i);
    }
  }
  if (wrong == 0) return;
  fail(where,
       fmt::format("{} of {} elements of {} differ; the worst at {}: {} instead of {}, {:.3g} times the tolerance "
                   "(relative {:g}, absolute {:g})",
                   wrong, have.size(), to_string(actual.shape()), position_of(worst, actual.shape()), have[worst],
                   want[worst], worst_excess, allowed.relative, allowed.absolute));
}

void expect_close(const Tensor& actual, const Tensor& expected, DType dtype, std::source_location where) {
  expect_close(actual, expected, tolerance(dtype), where);
}

void expect_close(const Tensor& actual, const Tensor& expected, std::source_location where) {
  expect_close(actual, expected, tolerance(actual.dtype()), where);
}

void expect_close(const Tensor& actual, const std::vector<double>& expected, std::source_location where) {
  if (static_cast<std::int64_t>(expected.size()) != actual.elements()) {
    fail(where, fmt::format("{} with {} elements, expected {} values", to_string(actual.shape()), actual.elements(),
                            expected.size()));
    return;
  }
  expect_close(actual, Tensor::from_vector(expected, actual.shape()), where);
}

void expect_same_bits(const Tensor& actual, const Tensor& expected, std::source_location where) {
  if (!same_shape(actual, expected, where)) return;
  if (actual.dtype() != expected.dtype()) {
    fail(where, fmt::format("the type is {}, expected {}", name_of(actual.dtype()), name_of(expected.dtype())));
    return;
  }
  visit_dtype(actual.dtype(), [&]<typename T>(TypeTag<T>) {
    const Tensor here = actual.detach().to(Device::cpu()), there = expected.detach().to(Device::cpu());
    const T *have = here.data<T>(), *want = there.data<T>();
    for (std::int64_t i = 0; i < actual.elements(); ++i) {
      if (std::ranges::equal(std::as_bytes(std::span(have + i, 1)), std::as_bytes(std::span(want + i, 1)))) continue;
      using Shown = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
      fail(where,
           fmt::format("element {} of {} is {}, expected the very same bits as {}", position_of(i, actual.shape()),
                       to_string(actual.shape()), Shown{have[i]}, Shown{want[i]}));
      return;
    }
  });
}

void expect_same_bits(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                      std::source_location where) {
  if (actual.size() != expected.size()) {
    fail(where, fmt::format("there are {} tensors, expected {}", actual.size(), expected.size()));
    return;
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE(fmt::format("tensor {}", i));
    expect_same_bits(actual[i], expected[i], where);
  }
}

}  // namespace bough::test
