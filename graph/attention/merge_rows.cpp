#include "graph/attention/merge_rows.h"

#include <limits>
#include <memory>
#include <utility>

namespace bough {
namespace {

constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();

/// One graph's row, read from its smallest source on.
class RowCursor {
 public:
  RowCursor(const RowSource& from, const CscView& rows, std::int32_t node) : from_(&from), rows_(rows) {
    const bool own = node >= from.shared;
    const std::int64_t row = own ? std::int64_t{node} - from.shift : node;
    if (row < (own ? from.shared : 0) || row >= rows_.num_rows()) return;
    next_ = rows_.offsets[static_cast<std::size_t>(row)];
    end_ = rows_.offsets[static_cast<std::size_t>(row) + 1];
  }

  std::int32_t source() const {
    if (next_ == end_) return none;
    const std::int32_t id = rows_.indices[static_cast<std::size_t>(next_)];
    return id < from_->shared ? id : id + from_->shift;
  }
  std::int32_t relation() const {
    const auto position = static_cast<std::size_t>(next_);
    const std::size_t edge = rows_.in_edge_order ? position : static_cast<std::size_t>(rows_.edge_ids[position]);
    const std::int32_t id = from_->graph.edge_types()[edge];
    return from_->relation ? from_->relation(id) : id;
  }
  void advance() { ++next_; }

 private:
  const RowSource* from_;
  CscView rows_;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace

InEdgeRule merge_rows(std::vector<RowSource> graphs) {
  const auto shared = std::make_shared<const std::vector<RowSource>>(std::move(graphs));
  std::vector<CscView> views;
  for (const RowSource& from : *shared) views.push_back(from.graph.csc(EdgeIds::implied));
  return [shared, views = std::move(views)](std::int32_t node, InEdges& in) {
    std::vector<RowCursor> cursors;
    cursors.reserve(shared->size());
    for (std::size_t g = 0; g < shared->size(); ++g) cursors.emplace_back((*shared)[g], views[g], node);
    while (true) {
      const RowCursor* first = &cursors.front();
      for (const RowCursor& cursor : cursors) {
        if (cursor.source() < first->source()) first = &cursor;
      }
      const std::int32_t source = first->source();
      if (source == none) return;
      in.add(source, first->relation());
      for (RowCursor& cursor : cursors) {
        while (cursor.source() == source) cursor.advance();
      }
    }
  };
}

}  // namespace bough
