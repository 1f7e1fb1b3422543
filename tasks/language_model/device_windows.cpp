#include "tasks/language_model/device_windows.h"

namespace bough {

DeviceWindows::DeviceWindows(TrainingWindows windows, Device device)
    : windows_(std::move(windows)), device_(device), prefetcher_(device) {}

WindowBatch DeviceWindows::batch(std::int64_t step) {
  if (device_.kind == Device::Kind::cpu) return windows_.batch(step);
  if (started_ != step) {
    if (prefetcher_.under_way() > 0) prefetcher_.finish();
    start(step);
  }
  const std::vector<Tensor> tensors = prefetcher_.finish();
  start(step + 1);
  return {tensors[0], tensors[1]};
}

void DeviceWindows::start(std::int64_t step) {
  const WindowBatch batch = windows_.batch(step);
  prefetcher_.start({batch.inputs, batch.targets});
  started_ = step;
}

}  // namespace bough
