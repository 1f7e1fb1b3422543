#include "tasks/language_model/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "bough/core/random.h"

namespace bough {
namespace {

void require_longer_than_a_window(const EncodedText& text, const WindowShape& shape) {
  if (shape.length < 2 || shape.count < 1) {
    throw ConfigError("windows",
                      fmt::format("windows of {} characters, {} a batch, cannot be cut", shape.length, shape.count));
  }
  if (static_cast<std::int64_t>(text->size()) <= shape.length) {
    throw ConfigError("windows", fmt::format("the text has {} characters, a window of {} and the one after it need {}",
                                             text->size(), shape.length, shape.length + 1));
  }
}

WindowBatch empty_batch(const WindowShape& shape) {
  return {Tensor::empty({shape.tokens()}, DType::int32), Tensor::empty({shape.tokens()}, DType::int32)};
}

void copy_window(const std::vector<std::int32_t>& text, std::int64_t begin, std::int64_t length, std::int64_t at,
                 WindowBatch& batch) {
  std::copy_n(text.begin() + begin, length, batch.inputs.data<std::int32_t>() + at);
  std::copy_n(text.begin() + begin + 1, length, batch.targets.data<std::int32_t>() + at);
}

}  // namespace

TrainingWindows::TrainingWindows(EncodedText text, WindowShape shape, std::uint64_t seed, std::int64_t parts)
    : text_(std::move(text)), shape_(shape), seed_(seed), parts_(parts) {
  require_longer_than_a_window(text_, shape_);
}

std::int64_t TrainingWindows::steps_per_epoch() const {
  const std::int64_t tokens = shape_.tokens() * parts_;
  return (static_cast<std::int64_t>(text_->size()) + tokens - 1) / tokens;
}

WindowBatch TrainingWindows::batch(std::int64_t step, std::int64_t part) const {
  // The default generator counts its streams from 0 and will not get this far.
  const RandomStream random{seed_, (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(step)};
  const auto places = static_cast<std::uint64_t>(text_->size()) - static_cast<std::uint64_t>(shape_.length);
  WindowBatch batch = empty_batch(shape_);
  for (std::int64_t i = 0; i < shape_.count; ++i) {
    const auto bits = random.block(static_cast<std::uint64_t>(part * shape_.count + i));
    const std::uint64_t begin = (std::uint64_t{bits[0]} << 32 | bits[1]) % places;
    copy_window(*text_, static_cast<std::int64_t>(begin), shape_.length, i * shape_.length, batch);
  }
  return batch;
}

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

EvaluationWindows::EvaluationWindows(EncodedText text, WindowShape shape) : text_(std::move(text)), shape_(shape) {
  require_longer_than_a_window(text_, shape_);
}

std::int64_t EvaluationWindows::scored() const { return characters() - 1 - shape_.length / 2; }

std::int64_t EvaluationWindows::num_windows() const {
  const std::int64_t scored_by_one = shape_.length - shape_.length / 2;
  return (scored() + scored_by_one - 1) / scored_by_one;
}

std::int64_t EvaluationWindows::num_batches() const { return (num_windows() + shape_.count - 1) / shape_.count; }

EvaluationWindows::Window EvaluationWindows::window(std::int64_t index) const {
  const std::int64_t half = shape_.length / 2;
  const std::int64_t regular = index * (shape_.length - half);
  // The last window is moved back so that it ends with the text; it scores what the one before left.
  return {.begin = std::min(regular, characters() - 1 - shape_.length), .first_scored = regular + half};
}

WindowBatch EvaluationWindows::batch(std::int64_t index) const {
  WindowBatch batch = empty_batch(shape_);
  for (std::int64_t i = 0; i < shape_.count; ++i) {
    const std::int64_t number = index * shape_.count + i;
    const std::int64_t at = i * shape_.length;
    const bool counts = number < num_windows();
    const Window cut = window(counts ? number : 0);
    copy_window(*text_, cut.begin, shape_.length, at, batch);
    const std::int64_t context = counts ? cut.first_scored - cut.begin : shape_.length;
    std::fill_n(batch.targets.data<std::int32_t>() + at, context, static_cast<std::int32_t>(not_scored));
  }
  return batch;
}

}  // namespace bough
