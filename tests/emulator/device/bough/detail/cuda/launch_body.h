#pragma once

#include <chrono>
#include <optional>

#include "bough/detail/launch_observer.h"
#include "bough/detail/simt/context.h"
#include "tests/emulator/device/device_memory.h"
#include "tests/emulator/engine/queue.h"

/// Found before that of CUDA when sources for nvcc are compiled for the emulated GPU.
namespace bough::cuda {

/// What a trace asks of an emulated launch: the time is the host's, and there are no multiprocessors.
struct LaunchProbe {
  static std::optional<KernelResources> resources() { return {}; }
  template <typename Start>
  static double milliseconds(const Start& start) {
    const auto before = std::chrono::steady_clock::now();
    start();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
  }
};

template <typename Body>
void launch_body(int device, const simt::Launch& launch, const Body& body) {
  if (launch.num_blocks == 0) return;
  const KernelLaunch observed = simt::observable(launch, device);
  emulator::fail_if_told(observed);
  observed_launch(observed, LaunchProbe{}, [&] {
    emulator::run_or_capture([=] {
      const emulator::DeviceAccess access(device);
      // One for all launches of a thread: making its fibers is most of a small one. Its traffic is not read.
      thread_local emulator::Queue queue(emulator::Order::ascending, emulator::Counting::off,
                                         &emulator::device_memory_map());
      queue.launch(launch, body);
    });
  });
}

}  // namespace bough::cuda
