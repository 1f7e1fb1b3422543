#pragma once

#include <cstddef>

/// Memory of the emulated GPU, which only kernels and copies may touch: everybody else who does crashes.
namespace bough::emulator {

/// While one of these lives, device memory can be read and written.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace bough::emulator
