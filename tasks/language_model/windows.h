#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bough/core/prefetcher.h"
#include "bough/core/tensor.h"

namespace bough {

/// Encoded text, shared by all objects that cut windows from it.
using EncodedText = std::shared_ptr<const std::vector<std::int32_t>>;

struct WindowShape {
  std::int64_t length = 0;  ///< characters of a window
  std::int64_t count = 0;   ///< windows of a batch
  std::int64_t tokens() const { return length * count; }
};

/// Windows one after the other: what the model reads, and the character after each of them.
struct WindowBatch {
  Tensor inputs;   ///< int32 [count * length]
  Tensor targets;  ///< int32 [count * length]; not_scored where a prediction does not count
};

inline constexpr std::int64_t not_scored = -100;

/// Windows from anywhere in the text. The batch of a step is a function of seed and step, so a resumed run needs no
/// state to see the same text.
class TrainingWindows {
 public:
  /// `shape` is that of one part of a step, which has `parts` of them: together the windows of a step with one part
  /// that is as large. ConfigError if the text is not longer than a window.
  TrainingWindows(EncodedText text, WindowShape shape, std::uint64_t seed, std::int64_t parts = 1);
  /// part: 0 .. parts - 1.
  WindowBatch batch(std::int64_t step, std::int64_t part = 0) const;
  std::int64_t parts() const { return parts_; }
  /// In which as many characters are read as the text has.
  std::int64_t steps_per_epoch() const;

 private:
  EncodedText text_;
  WindowShape shape_;
  std::uint64_t seed_;
  std::int64_t parts_;
};

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

/// Windows that overlap by half, of which the second half is scored given the first: every character after the first
/// half window is scored exactly once. The last batch is filled up with windows that do not count.
class EvaluationWindows {
 public:
  /// ConfigError if the text is not longer than a window.
  EvaluationWindows(EncodedText text, WindowShape shape);

  std::int64_t num_batches() const;
  WindowBatch batch(std::int64_t index) const;
  /// Characters that are scored in all batches together.
  std::int64_t scored() const;

 private:
  struct Window {
    std::int64_t begin, first_scored;  ///< both positions in the text; what is scored ends with the window
  };
  Window window(std::int64_t index) const;
  std::int64_t num_windows() const;
  std::int64_t characters() const { return static_cast<std::int64_t>(text_->size()); }

  EncodedText text_;
  WindowShape shape_;
};

}  // namespace bough
