#pragma once

#include <cstdint>

namespace bough {

/// Results from this size on are not kept in the cache: they would push out what is still needed, and are gone before
/// they are read again.
inline constexpr std::int64_t streamed_bytes = std::int64_t{8} << 20;

}  // namespace bough
