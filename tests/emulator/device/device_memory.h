#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "bough/core/launch_trace.h"
#include "tests/emulator/engine/memory_map.h"

/// Memory of the emulated GPUs, which only kernels and copies may touch: an access by the host crashes.
namespace bough::emulator {

inline constexpr int num_devices = 2;

/// While one of these lives, memory of the device can be read and written.
class DeviceAccess {
 public:
  explicit DeviceAccess(int device);
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  int device_;
};

/// What has been allocated on all of them and not freed.
MemoryMap& device_memory_map();

/// Does something at once, or while the calling thread captures, in every replay.
void run_or_capture(std::function<void()> work);

/// Copies of streams that have been asked for and have not happened.
int copies_under_way();

/// Copies between the host and devices for which the host has waited so far.
int copies_waited_for();

/// While one of these lives, launches of that kernel fail as on a GPU that refuses them.
class FailingKernel {
 public:
  explicit FailingKernel(std::string kernel);
  ~FailingKernel();
  FailingKernel(const FailingKernel&) = delete;
  FailingKernel& operator=(const FailingKernel&) = delete;
};
void fail_if_told(const KernelLaunch& launch);

}  // namespace bough::emulator
