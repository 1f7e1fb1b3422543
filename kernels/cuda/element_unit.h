#pragma once

#include <cstddef>
#include <cstdint>

namespace bough::cuda {

/// Calls f with an unsigned integer of `size` bytes (1, 2, 4 or 8): kernels that only move elements are compiled for
/// their sizes instead of their types.
template <typename F>
void with_element_unit(std::size_t size, const F& f) {
  if (size == 1) return f(std::uint8_t{});
  if (size == 2) return f(std::uint16_t{});
  if (size == 4) return f(std::uint32_t{});
  f(std::uint64_t{});
}

}  // namespace bough::cuda
