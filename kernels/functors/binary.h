#pragma once

#include "bough/core/host_device.h"

namespace bough {

enum class BinaryFunction { add, sub, mul, div, maximum, minimum };

namespace scalar {

/// The functions on single numbers, for kernels that have a thread for each. A NaN is the larger and the smaller of
/// two.
struct Binary {
  BinaryFunction function = BinaryFunction::add;

  template <typename T>
  BOUGH_HOST_DEVICE T operator()(T a, T b) const {
    switch (function) {
      case BinaryFunction::add:
        return a + b;
      case BinaryFunction::sub:
        return a - b;
      case BinaryFunction::mul:
        return a * b;
      case BinaryFunction::div:
        return a / b;
      case BinaryFunction::maximum:
        return a >= b || a != a ? a : b;
      case BinaryFunction::minimum:
        return a <= b || a != a ? a : b;
    }
    return a;
  }
};

}  // namespace scalar
}  // namespace bough
