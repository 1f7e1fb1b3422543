#include "bough/core/prefetcher.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>

#include "bough/core/errors.h"
#include "src/core/cuda_device.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

/// Rows of a staging buffer start where any element may.
constexpr std::size_t alignment = 64;
std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

/// Pinned memory of one batch, and the end of its last copy.
struct Prefetcher::Slot {
  explicit Slot(int where) : device(where), copied(cuda_make_event(where)) {}
  ~Slot() {
    cuda_free_event(device, copied);
    if (memory != nullptr) cuda_free_pinned(memory);
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  /// Room for a batch, once the device has read the last one.
  std::byte* room(std::size_t wanted) {
    if (used) cuda_synchronize(device, copied);
    if (wanted <= bytes) return memory;
    if (memory != nullptr) cuda_free_pinned(memory);
    memory = static_cast<std::byte*>(cuda_allocate_pinned(wanted));
    bytes = memory == nullptr ? 0 : wanted;
    if (memory == nullptr) {
      throw AllocationError("prefetcher", fmt::format("the host has no {} bytes of pinned memory left", wanted));
    }
    return memory;
  }

  int device;
  CudaEvent* copied;
  bool used = false;
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
};

struct Prefetcher::Batch {
  std::vector<Tensor> tensors;
  Slot* slot = nullptr;  ///< null on the CPU
};

struct Prefetcher::Pipeline {
  explicit Pipeline(Device where) : device(where) {
    if (device.kind == Device::Kind::cpu) return;
    allocator_of(device);  // the device is there
    stream = cuda_make_stream(device.index);
    ready = cuda_make_event(device.index);
  }
  ~Pipeline() {
    try {
      // Memory of batches that were not taken goes to the next allocation, and pinned memory to the host: neither
      // before the copies are done.
      for (const std::unique_ptr<Slot>& slot : slots) {
        if (slot->used) cuda_synchronize(device.index, slot->copied);
      }
    } catch (const DeviceError&) {
      // The device is lost; so are its copies.
    }
    if (ready != nullptr) cuda_free_event(device.index, ready);
    if (stream != nullptr) cuda_free_stream(device.index, stream);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  Device device;
  CudaStream* stream = nullptr;
  CudaEvent* ready = nullptr;  ///< what the device had been given when memory for a batch was taken
  std::vector<std::unique_ptr<Slot>> slots;
  std::size_t next = 0;
  std::deque<Batch> batches;
};

Prefetcher::Prefetcher(Device device, int depth) : pipeline_(std::make_unique<Pipeline>(device)) {
  if (depth < 1) throw ConfigError("prefetcher", fmt::format("the depth must be at least 1, not {}", depth));
  if (device.kind == Device::Kind::cpu) return;
  for (int i = 0; i < depth; ++i) pipeline_->slots.push_back(std::make_unique<Slot>(device.index));
}

Prefetcher::~Prefetcher() = default;

void Prefetcher::start(const std::vector<Tensor>& tensors) {
  Pipeline& line = *pipeline_;
  std::size_t bytes = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.device().kind != Device::Kind::cpu) {
      throw DeviceError("prefetcher",
                        fmt::format("takes tensors on the CPU, one is on {}", to_string(tensor.device())));
    }
    bytes += aligned(tensor.body()->num_bytes());
  }
  Batch batch;
  if (line.device.kind == Device::Kind::cpu) {
    for (const Tensor& tensor : tensors) batch.tensors.push_back(tensor.detach());
    line.batches.push_back(std::move(batch));
    return;
  }
  for (const Tensor& tensor : tensors) {
    batch.tensors.push_back(Tensor::empty(tensor.shape(), tensor.dtype(), line.device));
  }
  batch.slot = line.slots[line.next % line.slots.size()].get();
  ++line.next;
  const int device = line.device.index;
  std::byte* staged = batch.slot->room(bytes);
  cuda_record(device, line.ready, nullptr);
  cuda_wait(device, line.stream, line.ready);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorBody& source = *tensors[i].body();
    std::memcpy(staged, source.bytes(), source.num_bytes());
    cuda_copy_on(device, line.stream, batch.tensors[i].body()->bytes(), staged, source.num_bytes());
    staged += aligned(source.num_bytes());
  }
  cuda_record(device, batch.slot->copied, line.stream);
  batch.slot->used = true;
  line.batches.push_back(std::move(batch));
}

std::vector<Tensor> Prefetcher::finish() {
  Pipeline& line = *pipeline_;
  if (line.batches.empty()) throw ConfigError("prefetcher", "nothing is under way; start() a batch first");
  Batch batch = std::move(line.batches.front());
  line.batches.pop_front();
  if (batch.slot != nullptr) cuda_wait(line.device.index, nullptr, batch.slot->copied);
  return std::move(batch.tensors);
}

std::int64_t Prefetcher::under_way() const { return std::ssize(pipeline_->batches); }

}  // namespace bough
