#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "tests/emulator/engine/context.h"

namespace bough::emulator {

/// Memory that kernels use. Fresh memory holds nothing: every float in it is a NaN.
template <typename T>
class Buffer {
 public:
  explicit Buffer(std::int64_t count)
      : size_(static_cast<std::size_t>(count)), values_(new (std::align_val_t{64}) std::byte[size_ * sizeof(T) + 1]) {
    std::memset(values_.get(), 0xFF, size_ * sizeof(T));
  }

  T* data() const { return reinterpret_cast<T*>(values_.get()); }

 private:
  struct Free {
    void operator()(std::byte* values) const { ::operator delete[](values, std::align_val_t{64}); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> values_;
};

/// Stands for a stream of a GPU: launches run at once, in order, on the calling thread.
class Queue {
 public:
  explicit Queue(Order order = Order::ascending, Counting counting = Counting::on, const MemoryMap* memory = nullptr)
      : order_(order), counting_(counting), memory_(memory) {}

  template <typename Body>
  void launch(const simt::Launch& launch, const Body& body) {
    BlockRunner runner(launch, order_, fibers_, counting_, memory_);
    runner.run([&](BlockRunner& block, int thread) {
      Context context(block, thread);
      body(context);
    });
    traffic_ += runner.traffic();
  }

  template <typename Body>
  static bool has_matrix_unit() {
    return true;
  }
  static const std::uint64_t* random_shift() { return nullptr; }
  template <typename T>
  Buffer<T> scratch(std::int64_t count) {
    return Buffer<T>(count);
  }
  template <typename T>
  Buffer<T> upload(std::span<const T> values) {
    Buffer<T> buffer(static_cast<std::int64_t>(values.size()));
    std::ranges::copy(values, buffer.data());
    return buffer;
  }

  /// Of all launches so far.
  const Traffic& traffic() const { return traffic_; }

 private:
  Order order_;
  Counting counting_;
  const MemoryMap* memory_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Traffic traffic_;
};

}  // namespace bough::emulator
