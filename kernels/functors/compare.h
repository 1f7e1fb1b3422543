#pragma once

#include "bough/detail/host_device.h"

namespace bough {

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal };

namespace scalar {

/// The comparisons on single elements, for kernels that have a thread for each.
struct Compare {
  Comparison comparison = Comparison::equal;

  template <typename T>
  BOUGH_HOST_DEVICE bool operator()(T a, T b) const {
    switch (comparison) {
      case Comparison::equal:
        return a == b;
      case Comparison::not_equal:
        return a != b;
      case Comparison::less:
        return a < b;
      case Comparison::less_equal:
        return a <= b;
      case Comparison::greater:
        return a > b;
      case Comparison::greater_equal:
        return a >= b;
    }
    return false;
  }
};

}  // namespace scalar
}  // namespace bough
