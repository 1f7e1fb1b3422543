#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// Brings batches from the host to a device while the device computes with earlier ones.
///
/// start() puts tensors into pinned memory and lets them go to the device on a stream of their own, after the kernels
/// that the device has been given before; finish() lets kernels that are launched from then on see them. The host waits
/// for the device only where it is `depth` batches ahead of the copies. So that copies and kernels overlap, start the
/// next batch before the kernels that use this one:
///
///     prefetcher.start({batch(0)});
///     for (step = 0; step < steps; ++step) {
///       const Tensor now = prefetcher.finish()[0];
///       prefetcher.start({batch(step + 1)});
///       train_with(now);
///     }
///
/// With the CPU for a device, tensors are handed on as they are. A Prefetcher is for one thread at a time.
class Prefetcher {
 public:
  /// DeviceError if there is no such device.
  explicit Prefetcher(Device device, int depth = 2);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Tensors on the CPU, which may change as soon as this returns, unless the device is the CPU too. What comes out
  /// takes no part in autograd.
  void start(const std::vector<Tensor>& tensors);
  /// The tensors of the oldest start that has not been finished, on the device. ConfigError if there is none.
  std::vector<Tensor> finish();
  /// How many have been started and not finished.
  std::int64_t under_way() const;

 private:
  struct Slot;
  struct Batch;
  struct Pipeline;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace bough
