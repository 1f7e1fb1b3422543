#pragma once

#include <cstdint>

#include "bough/core/bfloat16.h"
#include "bough/core/random.h"
#include "bough/detail/host_device.h"

/// The tensors of graph attention as kernels of every backend see them.
namespace bough {

/// Vectors addressed by row and head: a tensor [rows, heads, width], a part of its heads, or a table that all heads
/// share (head_stride 0).
template <typename T>
struct HeadRows {
  T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = 0;

  BOUGH_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
  BOUGH_HOST_DEVICE T* operator()(std::int64_t row, std::int64_t head) const {
    return data + row * row_stride + head * head_stride;
  }
};

/// Which attention weights are dropped: a pure function, so that every kernel and the backward pass agree.
struct AttentionDropout {
  std::uint32_t threshold = 0;  ///< dropped if the edge's random number is below; 0 = no dropout
  double scale = 1;             ///< of the weights that are kept
  RandomStream stream = {};
  const std::uint64_t* stream_shift = nullptr;  ///< on the device: what a replay adds to the number of the stream
  std::int32_t first_head = 0;                  ///< heads of a group are numbered from here

  BOUGH_HOST_DEVICE bool active() const { return threshold != 0; }
  /// The counter of four neighbouring sources 4b .. 4b+3; `ordinal` tells parallel edges apart.
  BOUGH_HOST_DEVICE std::uint32_t last_counter(std::int64_t head, std::uint32_t ordinal) const {
    return static_cast<std::uint32_t>(stream.stream >> 32) ^
           (static_cast<std::uint32_t>(first_head + head) | ordinal << 16);
  }
  BOUGH_HOST_DEVICE bool keeps(std::int32_t src, std::int32_t dst, std::int64_t head, std::uint32_t ordinal) const {
    const auto numbers =
        philox4x32({static_cast<std::uint32_t>(src) / 4, static_cast<std::uint32_t>(dst),
                    static_cast<std::uint32_t>(stream.stream), last_counter(head, ordinal)},
                   {static_cast<std::uint32_t>(stream.seed), static_cast<std::uint32_t>(stream.seed >> 32)});
    // Chosen by comparisons: an index known at run time only would put the numbers into memory on a GPU.
    const std::uint32_t place = static_cast<std::uint32_t>(src) % 4;
    const std::uint32_t lower = place == 0 ? numbers[0] : numbers[1], upper = place == 2 ? numbers[2] : numbers[3];
    return (place < 2 ? lower : upper) >= threshold;
  }
};

/// What graph_attention computes from; tables that are not used are empty. See bough/ops/graph_attention.h.
template <typename T>
struct AttentionInputs {
  std::int64_t heads = 0, width = 0, value_width = 0;
  HeadRows<const T> q, k, v;
  HeadRows<const T> relation_keys, relation_values, relation_bias;
  HeadRows<const T> edge_bias, edge_weights;  ///< rows are edge ids
  AccumType<T> scale = 1;
  AttentionDropout dropout;

  BOUGH_HOST_DEVICE bool uses_relations() const { return relation_keys || relation_values || relation_bias; }
};

template <typename T>
struct AttentionOutputs {
  HeadRows<T> out;
  /// log of the sum of exponentials of scores, where the tiles may leave out what all scores of a row have in common;
  /// +infinity where there is nothing to attend to, so that exp(score - it) is 0.
  HeadRows<AccumType<T>> lse;
};

/// Gradients of the relation tables; those that are not wanted are empty.
template <typename T>
struct RelationTables {
  HeadRows<T> keys, values, bias;

  BOUGH_HOST_DEVICE explicit operator bool() const { return keys || values || bias; }
};

/// Gradients; those that are not wanted are empty. Every row is written, also where no edge is. Those that are sums of
/// several kernels' work are in the type that is computed with, whatever the tensors hold.
template <typename T>
struct AttentionGradients {
  HeadRows<const T> d_out;
  HeadRows<const T> out;  ///< the result of forward
  HeadRows<const AccumType<T>> lse;
  HeadRows<const AccumType<T>> delta;  ///< sum of out * d_out; on the CPU only of destinations that are in no tile
  HeadRows<T> q;
  HeadRows<AccumType<T>> k, v;
  RelationTables<AccumType<T>> relations;
  std::int64_t num_relations = 0;
  HeadRows<AccumType<T>> edge_bias, edge_weights;

  bool flow_to_destinations() const { return q || relations || edge_bias || edge_weights; }
  bool flow_to_sources() const { return k || v; }
};

}  // namespace bough
