#pragma once

#include "bough/core/prefetcher.h"
#include "tasks/language_model/windows.h"

namespace bough {

/// Training windows on a device. That of the next step is copied there while the device computes with this one.
class DeviceWindows {
 public:
  DeviceWindows(TrainingWindows windows, Device device);

  /// The batch of a step. Steps that come one after the other find theirs on its way already.
  WindowBatch batch(std::int64_t step);

 private:
  void start(std::int64_t step);

  TrainingWindows windows_;
  Device device_;
  Prefetcher prefetcher_;
  std::int64_t started_ = -1;  ///< the step whose batch is on its way
};

}  // namespace bough
