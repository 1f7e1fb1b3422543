#pragma once

#include <cstdint>

namespace bough::mp {

/// Asks for a row that will be read soon and lies anywhere in memory. It goes into the second-level cache: the first
/// has few places for lines on their way, and rows of kilobytes would wait for each other there.
/// Always inline: a function that only asks has no effect in the compiler's eyes, and its calls would be left out.
[[gnu::always_inline]] inline void prefetch_row(const void* row, std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  constexpr int for_reading = 0, second_level = 2;
  const auto* first = static_cast<const char*>(row);
  for (std::int64_t i = 0; i < bytes; i += line) __builtin_prefetch(first + i, for_reading, second_level);
}

}  // namespace bough::mp
