#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace bough::emulator {

/// A place in a kernel's source, as a number to compare and as text to show.
inline std::uint64_t site_number(const std::source_location& site) {
  return reinterpret_cast<std::uintptr_t>(site.file_name()) * 0x9E3779B97F4A7C15u ^
         (std::uint64_t{site.line()} << 16 | site.column());
}
inline std::string site_name(const std::source_location& site) {
  const std::string_view path = site.file_name();
  return fmt::format("{}:{}", path.substr(path.find_last_of('/') + 1), site.line());
}

}  // namespace bough::emulator
