#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/core/allocator.h"
#include "src/core/cuda_device.h"

namespace bough {

/// Work of one GPU that is recorded on one thread, to be replayed: see CapturedStep.
///
/// While it is recorded, kernels, fills and copies inside the device are not done. Memory comes from a part of its own,
/// which replays write to whenever they run. What comes from the host is the same for all replays and is kept; what the
/// host wants to see is refused.
class Recording {
 public:
  /// Begins. Random numbers of kernels are those of their streams plus what `random_shift`, on the device, holds.
  Recording(int device, const std::uint64_t* random_shift);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Ends; from then on the recording can be replayed.
  void finish();
  void replay() { cuda_replay(device_, graph_); }

  /// Whether the calling thread records work of the device.
  static bool active(Device device) noexcept { return current_on(device) != nullptr; }
  /// What kernels add to the numbers of their random streams; null outside a recording.
  static const std::uint64_t* random_shift(Device device) noexcept;
  /// DeviceError if the calling thread records work of the device: `what` needs its values.
  static void refuse(Device device, const char* what);

 private:
  friend void copy_from_host(int device, void* target, const void* source, std::size_t bytes);
  static Recording* current_on(Device device) noexcept;
  /// Memory with these bytes that nobody writes to as long as the recording lives.
  const void* constant(const void* source, std::size_t bytes);

  int device_;
  const std::uint64_t* random_shift_;
  std::shared_ptr<ApartMemory> memory_;
  std::vector<PooledAllocator::Block> constants_;
  CudaGraph* graph_ = nullptr;
  bool recording_ = false;
};

/// Copies from the host to a device; the source may go as soon as this returns.
void copy_from_host(int device, void* target, const void* source, std::size_t bytes);

}  // namespace bough
