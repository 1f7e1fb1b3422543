#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bough/core/tensor.h"
#include "src/core/allocator.h"
#include "src/core/cuda_device.h"

namespace bough {

/// A CUDA graph: work of one GPU that is captured on one thread, to be replayed. See CapturedStep.
///
/// While it is captured, kernels, fills and copies inside the device are not done. Memory comes from a part of its own,
/// which replays write to whenever they run. What comes from the host is the same for all replays and is kept, but for
/// numbers that are asked for before each of them; what the host wants to see is refused.
class CapturedGraph {
 public:
  /// Begins.
  explicit CapturedGraph(int device);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  /// Ends; from then on the graph can be replayed.
  void finish();
  /// Gives the device all that was captured, without waiting for it. Random numbers of kernels are those of their
  /// captured streams plus random_shift.
  void replay(std::uint64_t random_shift);

  /// Where the device finds in each replay what `now` gave for it just before. ConfigError for too many numbers.
  const double* changing(std::size_t count, std::function<void(std::span<double>)> now);

  /// What the calling thread captures, if that is work of the device; else null.
  static CapturedGraph* current_on(Device device) noexcept;
  /// Whether the calling thread captures work of the device.
  static bool capturing(Device device) noexcept { return current_on(device) != nullptr; }
  /// What kernels add to the numbers of their random streams, on the device; null outside a capture.
  static const std::uint64_t* random_shift(Device device) noexcept;
  /// DeviceError if the calling thread captures work of the device: `what` needs its values.
  static void refuse(Device device, const char* what);

 private:
  friend void copy_from_host(int device, void* target, const void* source, std::size_t bytes);
  /// Memory with these bytes that stays unwritten as long as the graph lives.
  const void* constant(const void* source, std::size_t bytes);

  struct Changing {
    std::size_t first, count;
    std::function<void(std::span<double>)> now;
  };
  std::uint64_t* words() const;

  int device_;
  std::shared_ptr<CapturePool> memory_;
  std::vector<PooledAllocator::Block> constants_;
  Tensor words_;  ///< what changes between replays: the shift of random streams, then numbers
  std::vector<Changing> changing_;
  std::size_t num_words_ = 1;
  CudaGraph* graph_ = nullptr;
  bool capturing_ = false;
};

/// Copies from the host to a device; the source may go as soon as this returns.
void copy_from_host(int device, void* target, const void* source, std::size_t bytes);

}  // namespace bough
