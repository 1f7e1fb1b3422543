#include "src/core/recording.h"

#include <fmt/format.h>

#include "bough/core/errors.h"

namespace bough {
namespace {

/// The recording of this thread, if there is one.
Recording*& current() {
  thread_local Recording* recording = nullptr;
  return recording;
}

}  // namespace

Recording::Recording(int device, const std::uint64_t* random_shift) : device_(device), random_shift_(random_shift) {
  if (current() != nullptr) throw ConfigError("captured step", "another step is being recorded on this thread");
  memory_ = allocator_of(Device::cuda(device)).begin_apart();
  try {
    cuda_begin_recording(device);
  } catch (...) {
    allocator_of(Device::cuda(device)).end_apart();
    throw;
  }
  recording_ = true;
  current() = this;
}

Recording::~Recording() {
  try {
    if (recording_) finish();
  } catch (const Error&) {
    // What could not be recorded is not needed either.
  }
  if (graph_ != nullptr) cuda_free_graph(device_, graph_);
  for (const PooledAllocator::Block& block : constants_) allocator_of(Device::cuda(device_)).free(block);
}

void Recording::finish() {
  recording_ = false;
  current() = nullptr;
  allocator_of(Device::cuda(device_)).end_apart();
  graph_ = cuda_end_recording(device_);
}

Recording* Recording::current_on(Device device) noexcept {
  Recording* recording = current();
  const bool here = recording != nullptr && device == Device::cuda(recording->device_);
  return here ? recording : nullptr;
}

const std::uint64_t* Recording::random_shift(Device device) noexcept {
  const Recording* recording = current_on(device);
  return recording == nullptr ? nullptr : recording->random_shift_;
}

void Recording::refuse(Device device, const char* what) {
  if (!active(device)) return;
  throw DeviceError("captured step",
                    fmt::format("{} needs values of {}, which a step that is recorded does not have; do "
                                "it outside of the step",
                                what, to_string(device)));
}

const void* Recording::constant(const void* source, std::size_t bytes) {
  PooledAllocator& allocator = allocator_of(Device::cuda(device_));
  // Not from the memory of the recording: kernels that ran before may have used that, and would in every replay.
  const PooledAllocator::Block block = allocator.allocate(bytes, PooledAllocator::From::everybody);
  constants_.push_back(block);
  cuda_copy(device_, block.address, source, bytes, CopyDirection::host_to_device);
  return block.address;
}

void copy_from_host(int device, void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  Recording* recording = Recording::current_on(Device::cuda(device));
  if (recording == nullptr) return cuda_copy(device, target, source, bytes, CopyDirection::host_to_device);
  cuda_copy(device, target, recording->constant(source, bytes), bytes, CopyDirection::device_to_device);
}

}  // namespace bough
