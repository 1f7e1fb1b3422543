#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace bough {

/// The family of everything bough throws. The message is one sentence: "[where] rule, value seen, hint".
class Error : public std::runtime_error {
 public:
  /// The sentence as it is.
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// "[where] message".
  Error(std::string_view where, std::string_view message);
};

/// Shapes of tensors that do not fit each other or the operation.
struct ShapeError : Error {
  using Error::Error;
};

/// An index that points outside what it looks into.
struct IndexError : Error {
  using Error::Error;
};

/// An element type that the operation does not take.
struct TypeError : Error {
  using Error::Error;
};

/// A graph that is not well formed, or a node or edge that is not in it.
struct GraphError : Error {
  using Error::Error;
};

/// JSON, an option or a command-line value that is not allowed.
struct ConfigError : Error {
  using Error::Error;
};

/// A device that is not there or not supported by this build.
struct DeviceError : Error {
  using Error::Error;
};

/// A file that cannot be read or written, or whose content is damaged.
struct IoError : Error {
  using Error::Error;
};

/// Memory that could not be had. Everything allocated before stays usable.
struct AllocationError : Error {
  using Error::Error;
};

/// Misuse of the tape: backward twice, a saved tensor overwritten, a non-scalar without a seed.
struct AutogradError : Error {
  using Error::Error;
};

}  // namespace bough
