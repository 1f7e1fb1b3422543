#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tasks/texts/sequence_batch.h"

namespace bough {

/// Sequences, prepared for a model, and the class of each text that it judges.
struct LabelledBatch {
  SequenceBatch sequences = {};
  std::vector<std::int32_t> labels = {};
};

/// The texts of a split, of which batches are made.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Words of each text.
  virtual std::vector<std::int64_t> lengths() const = 0;
  /// A batch of some texts with so many placeholders in front of each. May be called from several threads.
  virtual LabelledBatch make(std::span<const std::int32_t> texts, std::int64_t placeholders) const = 0;
};

}  // namespace bough
