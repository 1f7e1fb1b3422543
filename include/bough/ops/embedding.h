#pragma once

#include <cstdint>
#include <optional>

#include "bough/core/tensor.h"

namespace bough {

/// How rows are looked up; the table itself is that of nn::Embedding.
struct EmbeddingLookupOptions {
  /// The gradient of the table as RowGradient: only the rows that were looked up, ascending, each once. Without it a
  /// tensor of the table's shape, and so always on a GPU.
  bool sparse_gradient = false;
  /// A row that is looked up like any other but never gets a gradient.
  std::optional<std::int64_t> padding_index = {};
};

/// Looks rows up: result[i...] = table[index[i...]].
///
/// table [V, ...] float32 or float64, index int32 or int64 of any shape [...] -> [index shape..., row shape...].
/// IndexError naming the first entry outside 0..V-1 and V, also for padding_index. Keeps only the index.
/// Gradients of equal entries are added up in the order of the index, bitwise the same for any number of threads;
/// sparse and dense ones of several look-ups in the same table mix. Backward is O(entries * row width), and a dense
/// gradient costs V * row width on top.
Tensor embedding(const Tensor& table, const Tensor& index, const EmbeddingLookupOptions& options = {});

}  // namespace bough
