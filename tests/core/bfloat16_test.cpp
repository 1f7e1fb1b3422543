#include "bough/core/bfloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bough/core/tensor.h"

namespace bough {
namespace {

TEST(Bfloat16, HoldsItsNumbersExactly) {
  for (const float value : {0.f, -0.f, 1.f, -2.5f, 0x1.FEp100f, 0x1p-126f, 0x1p-133f}) {
    EXPECT_EQ(bfloat16(value), value);
    EXPECT_EQ(std::signbit(bfloat16(value)), std::signbit(value));
  }
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bfloat16 number = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
    if (std::isnan(float{number})) continue;
    EXPECT_EQ(bfloat16(float{number}).bits(), bits);
  }
}

TEST(Bfloat16, RoundsToTheNearestAndHalvesToEven) {
  EXPECT_EQ(bfloat16(1 + 0x1p-8f), 1.f) << "halfway between 1 and 1 + 2^-7";
  EXPECT_EQ(bfloat16(1 + 3 * 0x1p-8f), 1 + 0x1p-6f) << "halfway between 1 + 2^-7 and 1 + 2^-6";
  EXPECT_EQ(bfloat16(1 + 0x1.02p-8f), 1 + 0x1p-7f);
  EXPECT_EQ(bfloat16(-(1 + 0x1.02p-8f)), -(1 + 0x1p-7f));
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
}

TEST(Bfloat16, OfEveryPatternIsTheNearer) {
  for (std::uint32_t bits = 0; bits < 0x7F80; ++bits) {
    for (const std::uint32_t low : {1u, 0x1234u, 0x7FFFu, 0x8000u, 0x8001u, 0xFEDCu, 0xFFFFu}) {
      // Neighbours of the same sign follow one another, infinity after the last; by the distance, as integers.
      const std::uint32_t expected = low < 0x8000 || (low == 0x8000 && bits % 2 == 0) ? bits : bits + 1;
      ASSERT_EQ(bfloat16(std::bit_cast<float>(bits << 16 | low)).bits(), expected) << bits << " " << low;
      ASSERT_EQ(bfloat16(std::bit_cast<float>(0x80000000u | bits << 16 | low)).bits(), 0x8000u | expected);
    }
  }
}

TEST(Bfloat16, OfANaNIsANaNOfTheSameSign) {
  for (const std::uint32_t bits : {0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu, 0x7F8FFFFFu}) {
    EXPECT_TRUE(std::isnan(float{bfloat16(std::bit_cast<float>(bits))}));
    EXPECT_EQ(bfloat16(std::bit_cast<float>(bits | 0x80000000u)).bits() >> 15, 1);
  }
}

TEST(Bfloat16, KeepsInfinitiesAndNaN) {
  EXPECT_EQ(bfloat16(INFINITY), INFINITY);
  EXPECT_EQ(bfloat16(-INFINITY), -INFINITY);
  // Its lower bits alone say that it is one.
  EXPECT_TRUE(std::isnan(float{bfloat16(std::bit_cast<float>(0x7F800001u))}));
}

TEST(Bfloat16, TensorsHoldIt) {
  Tensor x = Tensor::from_vector(std::vector<bfloat16>{bfloat16(1.5), bfloat16(-3)}, {2});
  EXPECT_EQ(x.dtype(), DType::bfloat16);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1.5f, -3.f}));
  EXPECT_EQ(x.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, -3}));
  EXPECT_EQ(x.to_vector<bfloat16>()[1], -3.f);
  EXPECT_EQ(x.fill(0.1).to_vector<float>()[0], 0x1.9Ap-4f);
  EXPECT_EQ(name_of(x.dtype()), "bfloat16");
  EXPECT_THROW(x.data<float>(), TypeError);
}

}  // namespace
}  // namespace bough
