#include "tools/bough/words.h"

#include <fmt/format.h>

#include <cmath>

namespace bough::cli {

std::string seconds_in_words(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<std::int64_t>(std::llround(seconds / 60));
  if (minutes < 100) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} days", minutes / 60 / 24);
}

std::string bytes_in_words(std::int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (value < 1e6) return fmt::format("{:.0f} kB", value / 1e3);
  if (value < 1e9) return fmt::format("{:.1f} MB", value / 1e6);
  return fmt::format("{:.2f} GB", value / 1e9);
}

std::string short_number(double value) {
  if (value < 1e4) return fmt::format("{:.0f}", value);
  if (value < 1e6) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.1f}M", value / 1e6);
}

}  // namespace bough::cli
