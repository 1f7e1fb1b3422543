#include "tasks/language_model/device_windows.h"

namespace bough {

DeviceWindows::DeviceWindows(TrainingWindows windows, Device device)
    : windows_(std::move(windows)), device_(device), prefetcher_(device) {}

WindowBatch DeviceWindows::batch(std::int64_t step, std::int64_t part) {
  if (device_.kind == Device::Kind::cpu) return windows_.batch(step, part);
  const std::int64_t index = step * windows_.parts() + part;
  if (started_ != index) {
    if (prefetcher_.under_way() > 0) prefetcher_.finish();
    start(index);
  }
  const std::vector<Tensor> tensors = prefetcher_.finish();
  start(index + 1);
  return {tensors[0], tensors[1]};
}

void DeviceWindows::start(std::int64_t index) {
  const WindowBatch batch = windows_.batch(index / windows_.parts(), index % windows_.parts());
  prefetcher_.start({batch.inputs, batch.targets});
  started_ = index;
}

}  // namespace bough
