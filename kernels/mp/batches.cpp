#include "bough/mp/batches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>

#include "bough/detail/mp/adjacency.h"
#include "bough/detail/simt/device_rows.h"
#include "bough/mp/frame.h"
#include "bough/ops/gsddmm.h"
#include "kernels/mp/selection.h"
#include "kernels/ops/known_rows.h"

namespace bough {

std::int64_t EdgeBatch::size() const { return edges_->graph.num_edges(); }

Tensor EdgeBatch::src(const std::string& name) const {
  return gsddmm(edges_->graph, BinaryOp::copy_lhs, frame_->src_node(name), {});
}

Tensor EdgeBatch::dst(const std::string& name) const {
  return gsddmm(edges_->graph, BinaryOp::copy_rhs, {}, mp::rows_at(frame_->dst_node(name), edges_->receivers));
}

Tensor EdgeBatch::edge(const std::string& name) const { return mp::rows_at(frame_->edge(name), edges_->edge_ids); }

Tensor EdgeBatch::ids() const {
  const Device device = frame_->device();
  return edges_->edge_ids.defined() ? edges_->edge_ids.on(device) : arange(size(), DType::int32, device);
}

Tensor EdgeBatch::type() const {
  const Graph& graph = frame_->graph();
  mp::require_edge_types("EdgeBatch", "type()", graph);
  return mp::rows_at(simt::device_edge_types(graph, frame_->device()), edges_->edge_ids);
}

Tensor NodeBatch::node(const std::string& name) const { return gather_known_rows(frame_->dst_node(name), nodes_); }

const Tensor& Mailbox::messages() const {
  if (messages_.size() != 1) {
    throw GraphError("Mailbox", fmt::format("holds messages {}; messages(name) picks one",
                                            fmt::join(std::views::keys(messages_), ", ")));
  }
  return messages_.begin()->second;
}

const Tensor& Mailbox::messages(const std::string& name) const {
  const auto found = messages_.find(name);
  if (found == messages_.end()) {
    throw GraphError("Mailbox", fmt::format("has no message '{}', there is: {}{}", name,
                                            fmt::join(std::views::keys(messages_), ", "),
                                            messages_.size() == 1 ? "; messages() without a name reads it" : ""));
  }
  return found->second;
}

}  // namespace bough
