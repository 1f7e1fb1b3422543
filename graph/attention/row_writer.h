#pragma once

#include <cstdint>
#include <span>

#include "bough/graph/attention_graph_builder.h"

namespace bough {

/// Where a row of edges is written: sources and relations of one destination.
struct EdgeRow {
  std::int32_t node = 0;
  std::span<std::int32_t> sources;
  std::span<std::int32_t> relations;
};

/// The two ways to run rules: to count the edges of a row, and to write them.
class RowWriter {
 public:
  RowWriter(std::int64_t num_sources, std::int64_t num_relations)
      : num_sources_(num_sources), num_relations_(num_relations) {}

  template <typename Emit>
  static std::int64_t count(std::int32_t node, Emit&& emit) {
    InEdges in;
    in.node_ = node;
    emit(in);
    return in.size_;
  }

  /// Fills the row, sorts it by source where the rules did not, and refuses repeated edges.
  template <typename Emit>
  void write(EdgeRow row, Emit&& emit) const {
    InEdges in;
    in.node_ = row.node;
    in.sources_ = row.sources.data();
    in.relations_ = row.relations.data();
    in.capacity_ = static_cast<std::int64_t>(row.sources.size());
    in.num_sources_ = num_sources_;
    in.num_relations_ = num_relations_;
    if (in.capacity_ == 0) return;
    emit(in);
    if (in.size_ != in.capacity_) refuse_changed_row(row.node, in.capacity_, in.size_);
    if (!in.ascending_) sort_row(row);
  }

 private:
  [[noreturn]] static void refuse_changed_row(std::int32_t node, std::int64_t counted, std::int64_t written);
  static void sort_row(EdgeRow row);

  std::int64_t num_sources_;
  std::int64_t num_relations_;
};

}  // namespace bough
