#include "src/core/captured_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "bough/core/errors.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

/// What this thread captures, if it does.
CapturedGraph*& current() {
  thread_local CapturedGraph* graph = nullptr;
  return graph;
}

}  // namespace

// Words are, as constants, not from the memory of the capture: kernels of a replay would write there before others
// read them.
CapturedGraph::CapturedGraph(int device)
    : device_(device),
      words_(Tensor::empty({static_cast<std::int64_t>(most_written_words)}, DType::int64, Device::cuda(device))) {
  if (current() != nullptr) throw ConfigError("captured step", "another step is being captured on this thread");
  PooledAllocator& allocator = allocator_of(Device::cuda(device));
  memory_ = allocator.begin_capture();
  try {
    cuda_begin_capture(device);
  } catch (...) {
    allocator.end_capture();
    throw;
  }
  capturing_ = true;
  current() = this;
}

CapturedGraph::~CapturedGraph() {
  try {
    if (capturing_) finish();
  } catch (const Error&) {
    // What could not be captured is not needed either.
  }
  if (graph_ != nullptr) cuda_free_graph(device_, graph_);
  for (const PooledAllocator::Block& block : constants_) allocator_of(Device::cuda(device_)).free(block);
}

void CapturedGraph::finish() {
  capturing_ = false;
  current() = nullptr;
  allocator_of(Device::cuda(device_)).end_capture();
  graph_ = cuda_end_capture(device_);
}

std::uint64_t* CapturedGraph::words() const { return reinterpret_cast<std::uint64_t*>(words_.body()->bytes()); }

void CapturedGraph::replay(std::uint64_t random_shift) {
  std::array<std::uint64_t, most_written_words> now{random_shift};
  std::vector<double> numbers;
  for (const Changing& part : changing_) {
    numbers.assign(part.count, 0);
    part.now(numbers);
    std::ranges::transform(numbers, now.begin() + static_cast<std::ptrdiff_t>(part.first),
                           [](double number) { return std::bit_cast<std::uint64_t>(number); });
  }
  cuda_write(device_, words(), std::span(now).first(num_words_));
  cuda_replay(device_, graph_);
}

const double* CapturedGraph::changing(std::size_t count, std::function<void(std::span<double>)> now) {
  if (count > most_written_words - num_words_) {
    throw ConfigError("captured step", fmt::format("a step can have up to {} numbers that change, not {} more than {}",
                                                   most_written_words - 1, count, num_words_ - 1));
  }
  const std::size_t first = num_words_;
  changing_.push_back({first, count, std::move(now)});
  num_words_ += count;
  return reinterpret_cast<const double*>(words() + first);
}

CapturedGraph* CapturedGraph::current_on(Device device) noexcept {
  CapturedGraph* graph = current();
  const bool here = graph != nullptr && device == Device::cuda(graph->device_);
  return here ? graph : nullptr;
}

const std::uint64_t* CapturedGraph::random_shift(Device device) noexcept {
  const CapturedGraph* graph = current_on(device);
  return graph == nullptr ? nullptr : graph->words();
}

void CapturedGraph::refuse(Device device, const char* what) {
  if (!capturing(device)) return;
  throw DeviceError("captured step",
                    fmt::format("{} needs values of {}, which a step that is captured does not have; do "
                                "it outside of the step",
                                what, to_string(device)));
}

const void* CapturedGraph::constant(const void* source, std::size_t bytes) {
  PooledAllocator& allocator = allocator_of(Device::cuda(device_));
  // Not from the memory of the capture: kernels that ran before may have used that, and would in every replay.
  const PooledAllocator::Block block = allocator.allocate(bytes, PooledAllocator::From::shared_cache);
  constants_.push_back(block);
  cuda_copy(device_, block.address, source, bytes, CopyDirection::host_to_device);
  return block.address;
}

void copy_from_host(int device, void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  CapturedGraph* graph = CapturedGraph::current_on(Device::cuda(device));
  if (graph == nullptr) return cuda_copy(device, target, source, bytes, CopyDirection::host_to_device);
  cuda_copy(device, target, graph->constant(source, bytes), bytes, CopyDirection::device_to_device);
}

}  // namespace bough
