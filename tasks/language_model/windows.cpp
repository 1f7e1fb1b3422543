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
                      fmt::format("windows of {} tokens, {} a batch, cannot be cut", shape.length, shape.count));
  }
  if (static_cast<std::int64_t>(text->size()) <= shape.length) {
    throw ConfigError("windows", fmt::format("the text has {} tokens, a window of {} and the one after it need {}",
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

TrainingWindows::TrainingWindows(EncodedText text, WindowShape shape, std::uint64_t seed, std::int64_t parts,
                                 WindowOrder order)
    : text_(std::move(text)), shape_(shape), seed_(seed), parts_(parts), order_(order) {
  require_longer_than_a_window(text_, shape_);
  if (order_ == WindowOrder::streams && stream_length() < shape_.length) {
    throw ConfigError("windows",
                      fmt::format("{} windows of {} tokens a step read as many streams, and a text of {} "
                                  "tokens has {} for each; use a longer text or fewer windows a step, or set "
                                  "task.carry_memory to false",
                                  shape_.count * parts_, shape_.length, text_->size(), stream_length()));
  }
}

std::int64_t TrainingWindows::stream_length() const {
  // The last token of the text is never read, only predicted.
  return (static_cast<std::int64_t>(text_->size()) - 1) / (shape_.count * parts_);
}

std::int64_t TrainingWindows::steps_per_epoch() const {
  if (order_ == WindowOrder::streams) return stream_length() / shape_.length;
  const std::int64_t tokens = shape_.tokens() * parts_;
  return (static_cast<std::int64_t>(text_->size()) + tokens - 1) / tokens;
}

std::int64_t TrainingWindows::begin(std::int64_t step, std::int64_t row) const {
  const std::int64_t epoch = (step - 1) / steps_per_epoch();
  const std::int64_t drawn = order_ == WindowOrder::random ? step : epoch;
  // The default generator counts its streams from 0 and will not get this far.
  const RandomStream random{seed_, (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(drawn)};
  const auto below = [&random](std::int64_t index, std::int64_t places) {
    const auto bits = random.block(static_cast<std::uint64_t>(index));
    return static_cast<std::int64_t>((std::uint64_t{bits[0]} << 32 | bits[1]) % static_cast<std::uint64_t>(places));
  };
  if (order_ == WindowOrder::random) return below(row, static_cast<std::int64_t>(text_->size()) - shape_.length);
  // All streams begin equally far in: what is left of them at the end is less than a window.
  const std::int64_t first = below(0, stream_length() - steps_per_epoch() * shape_.length + 1);
  return row * stream_length() + first + windows_before(step) * shape_.length;
}

WindowBatch TrainingWindows::batch(std::int64_t step, std::int64_t part) const {
  WindowBatch batch = empty_batch(shape_);
  for (std::int64_t i = 0; i < shape_.count; ++i) {
    copy_window(*text_, begin(step, part * shape_.count + i), shape_.length, i * shape_.length, batch);
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

EvaluationWindows::EvaluationWindows(EncodedText text, WindowShape shape, EvaluationOrder order)
    : text_(std::move(text)), shape_(shape), carried_(order.carried), context_(shape.length / 2) {
  require_longer_than_a_window(text_, shape_);
  if (carried_ && shape_.count != 1) {
    throw ConfigError("windows", fmt::format("what is remembered is carried through one text, not {}", shape_.count));
  }
  if (order.stride && (*order.stride < 1 || *order.stride > shape_.length)) {
    throw ConfigError("windows",
                      fmt::format("{} tokens cannot be scored of a window of {}", *order.stride, shape_.length));
  }
  if (order.stride) context_ = shape_.length - *order.stride;
  if (carried_) context_ = 0;
}

std::int64_t EvaluationWindows::num_windows() const {
  const std::int64_t scored_by_one = shape_.length - context_;
  return (scored() + scored_by_one - 1) / scored_by_one;
}

std::int64_t EvaluationWindows::num_batches() const { return (num_windows() + shape_.count - 1) / shape_.count; }

EvaluationWindows::Window EvaluationWindows::window(std::int64_t index) const {
  const std::int64_t regular = index * (shape_.length - context_), last = tokens() - 1;
  // The last window is moved back so that it ends with the text; it scores what the one before left. A carried one must
  // stay where the memory of those before ends.
  const std::int64_t begin = carried_ ? regular : std::min(regular, last - shape_.length);
  return {.begin = begin, .first_scored = regular + context_, .end = std::min(begin + shape_.length, last)};
}

WindowBatch EvaluationWindows::batch(std::int64_t index) const {
  WindowBatch batch = empty_batch(shape_);
  for (std::int64_t i = 0; i < shape_.count; ++i) {
    const std::int64_t number = index * shape_.count + i;
    const std::int64_t at = i * shape_.length;
    const bool counts = number < num_windows();
    const Window cut = window(counts ? number : 0);
    const std::int64_t length = cut.end - cut.begin;
    copy_window(*text_, cut.begin, length, at, batch);
    std::int32_t* const inputs = batch.inputs.data<std::int32_t>() + at;
    std::int32_t* const targets = batch.targets.data<std::int32_t>() + at;
    std::fill(inputs + length, inputs + shape_.length, 0);
    std::fill(targets + length, targets + shape_.length, static_cast<std::int32_t>(not_scored));
    std::fill_n(targets, counts ? cut.first_scored - cut.begin : shape_.length, static_cast<std::int32_t>(not_scored));
  }
  return batch;
}

}  // namespace bough
