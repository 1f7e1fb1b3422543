#pragma once

#include <type_traits>

#include "bough/detail/host_device.h"

namespace bough {

enum class BinaryFunction { add, sub, mul, div, maximum, minimum };

namespace scalar {

/// What numbers are added and multiplied as: integers wrap around, which signed ones may not.
template <typename T, bool integer = std::is_integral_v<T>>
struct Wrapping {
  using Number = T;
};
template <typename T>
struct Wrapping<T, true> {
  using Number = std::make_unsigned_t<T>;
};

/// The functions on single numbers, for kernels that have a thread for each. A NaN is the larger and the smaller of
/// two.
struct Binary {
  BinaryFunction function = BinaryFunction::add;

  template <typename T>
  BOUGH_HOST_DEVICE T operator()(T a, T b) const {
    using Number = typename Wrapping<T>::Number;
    switch (function) {
      case BinaryFunction::add:
        return static_cast<T>(static_cast<Number>(a) + static_cast<Number>(b));
      case BinaryFunction::sub:
        return static_cast<T>(static_cast<Number>(a) - static_cast<Number>(b));
      case BinaryFunction::mul:
        return static_cast<T>(static_cast<Number>(a) * static_cast<Number>(b));
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
