#pragma once

#include "bough/core/dtype.h"

namespace bough::test {

/// Calls f(TypeTag<float>) and f(TypeTag<double>).
template <typename F>
void for_float_types(F&& f) {
  f(TypeTag<float>{});
  f(TypeTag<double>{});
}

}  // namespace bough::test
