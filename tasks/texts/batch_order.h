#pragma once

#include <compare>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace bough {

/// Options of BatchOrder.
struct BatchOrderOptions {
  std::int64_t tokens_per_batch = 4096;              ///< about; a longer text is a batch of its own
  std::optional<std::int64_t> texts_per_batch = {};  ///< instead: at most so many, each bucket evenly divided
  std::int64_t length_buckets = 16;                  ///< at most; 1 mixes texts of all lengths
  std::uint64_t seed = 1;
};

/// A part of a training step, whose gradients are added up with those of the others; steps count from 1, parts from 0.
struct PartOfStep {
  std::int64_t step = 1, part = 0;
  auto operator<=>(const PartOfStep&) const = default;

  /// What is trained on after it, where steps have so many parts.
  PartOfStep next(std::int64_t parts) const {
    return part + 1 < parts ? PartOfStep{step, part + 1} : PartOfStep{step + 1, 0};
  }
};

/// Which texts each training step reads. Texts of about equal length share a bucket, and a batch is of one bucket: its
/// texts then take about the same time, and the graphs of their lengths are needed again soon. The texts of a bucket
/// and the batches of all buckets are shuffled anew in each epoch.
///
/// A function of lengths, seed and step alone; may be asked from several threads.
class BatchOrder {
 public:
  /// `lengths`: tokens of each text. ConfigError without texts.
  BatchOrder(std::vector<std::int64_t> lengths, BatchOrderOptions options);

  /// The same in every epoch.
  std::int64_t batches_per_epoch() const { return batches_per_epoch_; }
  /// Texts of the smallest batch.
  std::int64_t smallest_batch() const { return smallest_batch_; }
  /// Texts of a step; steps count from 1. O(texts) for the first step of an epoch that is asked for.
  std::vector<std::int32_t> batch(std::int64_t step) const;
  /// Those of one of `parts` parts of a step, which have about as many texts each.
  std::vector<std::int32_t> batch(const PartOfStep& at, std::int64_t parts) const;

 private:
  struct Bucket {
    std::vector<std::int32_t> texts;
    std::int64_t batches = 1;
  };
  std::vector<std::vector<std::int32_t>> shuffled(std::int64_t epoch) const;

  std::uint64_t seed_;
  std::vector<Bucket> buckets_;
  std::int64_t batches_per_epoch_ = 0, smallest_batch_ = 0;
  mutable std::mutex mutex_;
  mutable std::int64_t known_epoch_ = -1;
  mutable std::vector<std::vector<std::int32_t>> known_;
};

/// Texts of each batch of an evaluation, in which the order does not matter: by length, up to so many tokens each.
std::vector<std::vector<std::int32_t>> evaluation_batches(const std::vector<std::int64_t>& lengths,
                                                          std::int64_t tokens_per_batch);

}  // namespace bough
