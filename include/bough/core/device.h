#pragma once

#include <iosfwd>
#include <string>

namespace bough {

/// Where a tensor lives.
struct Device {
  /// CPU or GPU.
  enum class Kind { cpu, cuda };

  Kind kind = Kind::cpu;  ///< which of the two
  int index = 0;          ///< number of the GPU

  /// The CPU; a GPU by its number.
  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int index = 0) { return {Kind::cuda, index}; }
  /// The first CUDA device where this build and machine have one, the CPU otherwise.
  static Device cuda_if_available();

  bool operator==(const Device&) const = default;
};

/// "cpu", "cuda:0".
std::string to_string(Device device);
/// Writes to_string(device).
std::ostream& operator<<(std::ostream& stream, Device device);

/// Reads "cpu", "cuda" or "cuda:N"; ConfigError for anything else.
Device parse_device(const std::string& text);

}  // namespace bough
