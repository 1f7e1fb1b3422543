#pragma once

#include <cstdint>
#include <vector>

#include "bough/core/random.h"

/// Random choices by integer arithmetic on Philox numbers: the same on every machine.
namespace bough {

/// A number from 0 to count-1, for count below 2^31.
constexpr std::int64_t below(std::int64_t count, std::uint32_t bits) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(bits) * static_cast<std::uint64_t>(count)) >> 32);
}

/// `count` different numbers from 0 to from-1, ascending; all of them if count >= from. O(count^2), meant for few.
std::vector<std::int64_t> choose(std::int64_t count, std::int64_t from, RandomStream random);

/// 0 .. count-1 in random order.
std::vector<std::int32_t> shuffled(std::int64_t count, RandomStream random);

}  // namespace bough
