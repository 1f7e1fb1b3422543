#pragma once

#include <string>

namespace bough {

/// How this copy of bough was built and what it found on this machine.
struct BuildInformation {
  std::string version;          ///< "0.1.0"
  std::string compiler;         ///< "GNU 12.2.0"
  std::string build_type;       ///< "Release"
  std::string instruction_set;  ///< what vectorised loops use here, e.g. "AVX2"
  bool has_cuda = false;        ///< built with the CUDA runtime
  int cuda_devices = 0;         ///< 0 without the runtime, a driver or a device
};
/// Asks the build, the CPU and the CUDA driver.
BuildInformation build_information();

}  // namespace bough
