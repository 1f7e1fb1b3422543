#pragma once

#include <span>

#include "kernels/emulator/queue.h"
#include "kernels/scratch.h"
#include "tests/emulator/device/device_memory.h"

/// Found before the queue of CUDA when the sources of kernels/cuda are compiled for the emulated GPU.
namespace bough::cuda {

class Queue {
 public:
  explicit Queue(int device) : device_(device) {}

  void* stream() const { return nullptr; }

  template <typename Body>
  void launch(const simt::Launch& launch, const Body& body) {
    const emulator::DeviceAccess access;
    // One for all launches of a thread: making its fibers is most of a small one. Nobody asks for what they count.
    thread_local emulator::Queue queue(emulator::Order::ascending, emulator::Counting::off);
    queue.launch(launch, body);
  }
  template <typename T>
  Scratch<T> scratch(std::int64_t count) {
    return Scratch<T>(count, Device::cuda(device_));
  }
  template <typename T>
  Scratch<T> upload(std::span<const T> values) {
    Scratch<T> buffer = scratch<T>(static_cast<std::int64_t>(values.size()));
    const emulator::DeviceAccess access;
    std::ranges::copy(values, buffer.data());
    return buffer;
  }

 private:
  int device_;
};

}  // namespace bough::cuda
