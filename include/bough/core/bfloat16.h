#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "bough/detail/host_device.h"

namespace bough {

/// The upper 16 bits of a float32: the same range, three digits. For storing; arithmetic happens in float.
class bfloat16 {
 public:
  bfloat16() = default;

  /// By way of float to the nearest one, of two equally near to the even one. A NaN stays one, with its sign.
  template <typename T>
  requires std::is_arithmetic_v<T> BOUGH_HOST_DEVICE explicit bfloat16(T value)
      : bits_(rounded(static_cast<float>(value))) {}

  /// The value, exactly.
  BOUGH_HOST_DEVICE operator float() const { return std::bit_cast<float>(std::uint32_t{bits_} << 16); }

  /// The number with these bits, and the bits of a number.
  static bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result;
    result.bits_ = bits;
    return result;
  }
  std::uint16_t bits() const { return bits_; }

 private:
  BOUGH_HOST_DEVICE static std::uint16_t rounded(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    // Where only the lower bits say that it is a NaN, without them it would be infinity.
    if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
  }

  std::uint16_t bits_;
};

static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);

/// What is computed with numbers of a type.
template <typename T>
using AccumType = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

}  // namespace bough
