#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bough/core/prefetcher.h"
#include "bough/core/tensor.h"

namespace bough {

/// Tokens of a text, shared by all objects that cut windows from it.
using EncodedText = std::shared_ptr<const std::vector<std::int32_t>>;

struct WindowShape {
  std::int64_t length = 0;  ///< tokens of a window
  std::int64_t count = 0;   ///< windows of a batch
  std::int64_t tokens() const { return length * count; }
  bool operator==(const WindowShape&) const = default;
};

/// Windows one after the other: what the model reads, and the token after each of them.
struct WindowBatch {
  Tensor inputs;   ///< int32 [count * length]
  Tensor targets;  ///< int32 [count * length]; not_scored where a prediction does not count
};

inline constexpr std::int64_t not_scored = -100;

/// Which windows come after each other in training.
enum class WindowOrder {
  random,  ///< from anywhere in the text
  /// The text is cut into as many streams as a step has windows. Each step reads the next window of every stream; after
  /// the last one an epoch begins, at most a window further into the streams, by chance.
  streams
};

/// Windows to learn from. The batch of a step is a function of seed and step (from 1), so a resumed run needs no state
/// to see the same text.
class TrainingWindows {
 public:
  /// `shape` is that of one part of a step, which has `parts` of them: together the windows of a step with one part
  /// that is as large. ConfigError if the text is not longer than a window, or a stream shorter.
  TrainingWindows(EncodedText text, WindowShape shape, std::uint64_t seed, std::int64_t parts = 1,
                  WindowOrder order = WindowOrder::random);
  /// part: 0 .. parts - 1.
  WindowBatch batch(std::int64_t step, std::int64_t part = 0) const;
  std::int64_t parts() const { return parts_; }
  /// In which as many tokens are read as the text has; of streams, those from their beginning to their end.
  std::int64_t steps_per_epoch() const;
  /// Of streams: how many windows of a stream an epoch has read before this step.
  std::int64_t windows_before(std::int64_t step) const { return (step - 1) % steps_per_epoch(); }

 private:
  std::int64_t stream_length() const;
  /// Where the window of a row begins, of all rows of a step.
  std::int64_t begin(std::int64_t step, std::int64_t row) const;

  EncodedText text_;
  WindowShape shape_;
  std::uint64_t seed_;
  std::int64_t parts_;
  WindowOrder order_;
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

/// How a held-out text is cut.
struct EvaluationOrder {
  /// Tokens of a window that are scored, the last ones, given those before; default: the second half. Not for carried
  /// windows.
  std::optional<std::int64_t> stride = {};
  /// Windows one after the other without overlap, for a model that carries what it remembers from each to the next.
  bool carried = false;
};

/// Windows of a held-out text. They overlap by what is not scored, length - stride, so that every token after the first
/// length - stride + 1 is scored exactly once, given at least so many tokens. Carried windows do not overlap, and every
/// token but the first is scored. The last batch is filled up with what does not count.
class EvaluationWindows {
 public:
  /// ConfigError if the text is not longer than a window, if the stride is not from 1 to the length, and for a batch of
  /// several carried windows.
  EvaluationWindows(EncodedText text, WindowShape shape, EvaluationOrder order = {});

  std::int64_t num_batches() const;
  WindowBatch batch(std::int64_t index) const;
  /// The first token that is scored; all after it are too.
  std::int64_t first_scored() const { return context_ + 1; }
  /// Tokens that are scored in all batches together.
  std::int64_t scored() const { return tokens() - first_scored(); }

 private:
  struct Window {
    std::int64_t begin, first_scored, end;  ///< positions of what is read, among which those whose next token counts
  };
  Window window(std::int64_t index) const;
  std::int64_t num_windows() const;
  std::int64_t tokens() const { return static_cast<std::int64_t>(text_->size()); }

  EncodedText text_;
  WindowShape shape_;
  bool carried_;
  std::int64_t context_;  ///< tokens of a window that are read only
};

}  // namespace bough
