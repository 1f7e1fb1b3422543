#pragma once

#include <cstdint>
#include <span>

#include "bough/core/device.h"
#include "tasks/texts/encoded_trees.h"
#include "tasks/texts/labelled_batch.h"

namespace bough {

/// Options of TreeBatcher.
struct TreeBatcherOptions {
  /// Types of edges are positions: 0 of the first part of a phrase, 1 of the second. Otherwise edges have no types.
  bool binary = false;
  Device device = Device::cpu();
};

/// Makes batches of trees for recurrent layers: one disjoint graph with edges from parts to phrases, words at the
/// leaves. Every node that has a label is read out and is a sequence of its own. May be used from several threads.
class TreeBatcher {
 public:
  explicit TreeBatcher(const TreeBatcherOptions& options) : options_(options) {}

  /// At least one tree. O(nodes of the batch).
  LabelledBatch make(const EncodedTrees& trees, std::span<const std::int32_t> chosen) const;

  const TreeBatcherOptions& options() const { return options_; }

 private:
  TreeBatcherOptions options_;
};

}  // namespace bough
