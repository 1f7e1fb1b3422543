#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/nn/graph_transformer.h"
#include "bough/nn/graph_transformer_decoder.h"
#include "bough/ops/packed_linear.h"
#include "kernels/ops/cached_attention.h"

namespace bough::nn {

/// The rows that one step computes, the same in every layer: new tokens first, then the other nodes they complete.
struct DecodingStep {
  std::int64_t tokens = 0;
  std::vector<std::int32_t> rows;  ///< of the caches, where keys and values of the new nodes go
  std::vector<CachedEdges> edges;  ///< into the new nodes, for each group of heads
  std::vector<CachedEdges> cross;  ///< into the tokens from rows of the source caches: one, none without an encoder
};

/// One layer of a model as decoding runs it, with the keys and values that it has computed before. The model must
/// outlive it; its dropout is left out.
class DecodingLayer {
 public:
  DecodingLayer(const GraphTransformerLayer& layer, const GraphTransformerLayerOptions& options);
  DecodingLayer(const GraphTransformerDecoderLayer& layer, const GraphTransformerLayerOptions& options);

  /// h [rows of the step, dim] -> what the layer makes of it; with `tokens_only` of the tokens, while keys and values
  /// are those of all rows.
  Tensor update(const DecodingStep& step, const Tensor& h, bool tokens_only);
  /// Keys and values of rows of an encoder's output, into these rows of the source cache.
  void project_source(const Tensor& encoded, std::span<const std::int32_t> rows);

  /// Makes room in the caches for so many rows; what they hold stays.
  void reserve(std::int64_t rows) { grow(cache_, rows); }
  void reserve_sources(std::int64_t rows) { grow(source_cache_, rows); }

 private:
  template <typename Layer>
  DecodingLayer(const Layer& layer, const GraphTransformerLayerOptions& options, const GraphSelfAttention* cross);

  void grow(Tensor& cache, std::int64_t rows) const;
  Tensor attend(const DecodingStep& step, const Tensor& read, std::int64_t destinations);
  Tensor attend_to_source(const DecodingStep& step, const Tensor& read);
  /// What a part reads, and the end of its residual block.
  Tensor read_by(const LayerNorm& norm, const Tensor& x) const { return pre_norm_ ? norm.forward(x) : x; }
  Tensor add_change(const LayerNorm& norm, const Tensor& x, const Tensor& change) const;

  bool pre_norm_;
  std::int64_t heads_, dim_;
  const GraphSelfAttention *attention_, *cross_attention_;
  const LayerNorm *attention_norm_, *cross_norm_ = nullptr, *feed_forward_norm_;
  PackedLinear query_key_value_, output_, inner_, outer_;
  PackedLinear cross_query_, cross_output_, source_key_value_;
  Tensor cache_, source_cache_;  ///< [room, 2 dim], keys beside values
};

}  // namespace bough::nn
