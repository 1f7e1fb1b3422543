#pragma once

#include "bough/core/prefetcher.h"
#include "tasks/language_model/windows.h"

namespace bough {

/// Training windows on a device. The next batch is copied there while the device computes with this one.
class DeviceWindows {
 public:
  DeviceWindows(TrainingWindows windows, Device device);

  /// As TrainingWindows::batch. Batches that come one after the other are found on their way already.
  WindowBatch batch(std::int64_t step, std::int64_t part = 0);
  const TrainingWindows& windows() const { return windows_; }

 private:
  void start(std::int64_t index);

  TrainingWindows windows_;
  Device device_;
  Prefetcher prefetcher_;
  std::int64_t started_ = -1;  ///< the batch on its way, counted through all parts of all steps
};

}  // namespace bough
