#pragma once

#include <chrono>
#include <span>

#include "kernels/emulator/queue.h"
#include "kernels/scratch.h"
#include "kernels/simt/observable.h"
#include "src/core/launch_observer.h"
#include "src/core/recording.h"
#include "tests/emulator/device/device_memory.h"

/// Found before the queue of CUDA when the sources of kernels/cuda are compiled for the emulated GPU.
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

class Queue {
 public:
  explicit Queue(int device) : device_(device) {}

  void* stream() const { return nullptr; }

  template <typename Body>
  void launch(const simt::Launch& launch, const Body& body) {
    if (launch.num_blocks == 0) return;
    const KernelLaunch observed = simt::observable(launch, device_);
    emulator::fail_if_told(observed);
    observed_launch(observed, LaunchProbe{}, [&] {
      emulator::run_or_record([launch, body, device = device_] {
        const emulator::DeviceAccess access(device);
        // One for all launches of a thread: making its fibers is most of a small one. Nobody asks for what they count.
        thread_local emulator::Queue queue(emulator::Order::ascending, emulator::Counting::off,
                                           &emulator::device_memory_map());
        queue.launch(launch, body);
      });
    });
  }
  template <typename Body>
  bool has_matrix_unit() const {
    return true;
  }
  const std::uint64_t* random_shift() const { return Recording::random_shift(device_); }
  template <typename T>
  Scratch<T> scratch(std::int64_t count) {
    return Scratch<T>(count, Device::cuda(device_));
  }
  template <typename T>
  Scratch<T> upload(std::span<const T> values) {
    Scratch<T> buffer = scratch<T>(static_cast<std::int64_t>(values.size()));
    copy_from_host(device_, buffer.data(), values.data(), values.size_bytes());
    return buffer;
  }

 private:
  int device_;
};

}  // namespace bough::cuda
