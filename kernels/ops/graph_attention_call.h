#pragma once

#include <array>
#include <span>
#include <vector>

#include "bough/ops/graph_attention.h"
#include "kernels/attention/views.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"

/// A checked call of graph_attention, and its tensors as kernels want to see them.
namespace bough {

/// The tensors of a call, in the order in which the tape sees those that are there.
struct AttentionTensors {
  Tensor q, k, v;
  Tensor relation_keys, relation_values, relation_bias;
  Tensor edge_bias, edge_weights;

  static constexpr std::size_t count = 8;
  std::array<Tensor*, count> all() {
    return {&q, &k, &v, &relation_keys, &relation_values, &relation_bias, &edge_bias, &edge_weights};
  }
  std::vector<Tensor> defined() const;
  /// The tensors that `defined` gave, in their places.
  static AttentionTensors from(std::span<const Tensor> defined, const std::array<bool, count>& present);
  std::array<bool, count> present() const;
};

/// Heads that share one graph, and where its edges begin in the edge tensors.
struct HeadGroup {
  Graph graph;
  std::int64_t first_head = 0, heads = 0;
  std::int64_t first_edge = 0;
};

struct AttentionCall {
  std::vector<HeadGroup> groups = {};
  std::int64_t num_src = 0, num_dst = 0, heads = 0, width = 0, value_width = 0;
  double scale = 1;
  AttentionDropout dropout = {};
  AttentionKernel kernel = AttentionKernel::automatic;
  bool deterministic = true;
  bool tensor_cores = false;

  template <typename T>
  AttentionInputs<T> inputs(const AttentionTensors& tensors, const HeadGroup& group) const;
};

/// A tensor [rows, heads, width] from a head on; or [rows, width], the same for all heads.
template <typename T>
HeadRows<const T> head_rows(const Tensor& tensor, bool per_head, std::int64_t heads, std::int64_t width,
                            std::int64_t first_head = 0) {
  if (!tensor.defined()) return {};
  if (!per_head) return {device_data<T>(tensor), width, 0};
  return {device_data<T>(tensor) + first_head * width, heads * width, width};
}
template <typename T>
HeadRows<T> head_rows(Tensor& tensor, bool per_head, std::int64_t heads, std::int64_t width,
                      std::int64_t first_head = 0) {
  if (!tensor.defined()) return {};
  if (!per_head) return {device_data<T>(tensor), width, 0};
  return {device_data<T>(tensor) + first_head * width, heads * width, width};
}

/// The part of an edge tensor [edges] or [edges, heads of a group] that belongs to a group.
template <typename T, typename SomeTensor>
auto edge_rows(SomeTensor& tensor, const HeadGroup& group) {
  auto rows = head_rows<T>(tensor, tensor.defined() && tensor.rank() == 2, group.heads, 1);
  if (rows) rows.data += group.first_edge * rows.row_stride;
  return rows;
}

template <typename T>
AttentionInputs<T> AttentionCall::inputs(const AttentionTensors& tensors, const HeadGroup& group) const {
  const auto table = [&](const Tensor& tensor, std::int64_t row_width) {
    return head_rows<T>(tensor, tensor.defined() && tensor.rank() == 3, heads, row_width, group.first_head);
  };
  AttentionInputs<T> in{
      .heads = group.heads,
      .width = width,
      .value_width = value_width,
      .q = head_rows<T>(tensors.q, true, heads, width, group.first_head),
      .k = head_rows<T>(tensors.k, true, heads, width, group.first_head),
      .v = head_rows<T>(tensors.v, true, heads, value_width, group.first_head),
      .relation_keys = table(tensors.relation_keys, width),
      .relation_values = table(tensors.relation_values, value_width),
      .relation_bias = head_rows<T>(tensors.relation_bias, true, heads, 1, group.first_head),
      .edge_bias = edge_rows<T>(tensors.edge_bias, group),
      .edge_weights = edge_rows<T>(tensors.edge_weights, group),
      .scale = static_cast<AccumType<T>>(scale),
      .dropout = dropout,
  };
  in.dropout.first_head = static_cast<std::int32_t>(group.first_head);
  return in;
}

/// The call, its dropout stream not yet taken; or ShapeError, TypeError, ConfigError, DeviceError.
AttentionCall check_attention(const char* where, std::span<const Graph> graphs, const AttentionTensors& tensors,
                              const GraphAttentionOptions& options);

/// The same result from operations on edges, which record themselves: what the fused kernels are held to.
Tensor unfused_attention(const AttentionCall& call, const AttentionTensors& tensors);
/// The weights alone, of a call with one group of heads and without dropout: [edges, heads].
Tensor unfused_weights(const AttentionCall& call, const AttentionTensors& tensors);

}  // namespace bough
