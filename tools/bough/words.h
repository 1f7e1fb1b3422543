#pragma once

#include <cstdint>
#include <string>

/// Figures as people read them.
namespace bough::cli {

std::string seconds_in_words(double seconds);    ///< "12 s", "4 min", "2 h 5 min"
std::string bytes_in_words(std::int64_t bytes);  ///< "740 kB", "12.5 MB"
std::string short_number(double value);          ///< "950", "12.3k", "4.5M"

}  // namespace bough::cli
