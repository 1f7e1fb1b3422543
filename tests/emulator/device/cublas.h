#pragma once

/// The cuBLAS of the emulated GPU, which has none until a test asks for it.
namespace bough::emulator {

/// While one of these lives, products on the emulated GPU go to a cuBLAS that multiplies on the host and notes what it
/// was asked for. One at a time.
class HostCublas {
 public:
  HostCublas();
  ~HostCublas();
  HostCublas(const HostCublas&) = delete;
  HostCublas& operator=(const HostCublas&) = delete;

  int products() const;       ///< calls so far
  int tf32_products() const;  ///< those that allowed it
  /// The next product fails.
  void fail_once();
};

}  // namespace bough::emulator
