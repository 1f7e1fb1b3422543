#include "nn/decoding/decoding_layer.h"

#include <algorithm>

#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "nn/modules/layer_parts.h"

namespace bough::nn {

template <typename Layer>
DecodingLayer::DecodingLayer(const Layer& layer, const GraphTransformerLayerOptions& options,
                             const GraphSelfAttention* cross)
    : pre_norm_(options.pre_norm),
      heads_(options.heads),
      dim_(options.dim),
      attention_(&layer.attention),
      cross_attention_(cross),
      attention_norm_(&layer.attention_norm),
      feed_forward_norm_(&layer.feed_forward_norm),
      query_key_value_({layer.attention.query.part(), layer.attention.key.part(), layer.attention.value.part()}),
      output_({layer.attention.output.part()}),
      inner_({layer.feed_forward.inner.part()}, options.activation),
      outer_({layer.feed_forward.outer.part()}) {}

DecodingLayer::DecodingLayer(const GraphTransformerLayer& layer, const GraphTransformerLayerOptions& options)
    : DecodingLayer(layer, options, nullptr) {}

DecodingLayer::DecodingLayer(const GraphTransformerDecoderLayer& layer, const GraphTransformerLayerOptions& options)
    : DecodingLayer(layer, options, &layer.cross_attention) {
  cross_norm_ = &layer.cross_attention_norm;
  cross_query_ = PackedLinear({layer.cross_attention.query.part()});
  cross_output_ = PackedLinear({layer.cross_attention.output.part()});
  source_key_value_ = PackedLinear({layer.cross_attention.key.part(), layer.cross_attention.value.part()});
}

void DecodingLayer::grow(Tensor& cache, std::int64_t rows) const {
  const std::int64_t room = cache.defined() ? cache.size(0) : 0;
  if (rows <= room) return;
  constexpr std::int64_t least_room = 64;
  Tensor larger = Tensor::empty({std::max({rows, 2 * room, least_room}), 2 * dim_}, DType::float32,
                                attention_->query.weight.device());
  if (room > 0) larger.rows(0, room).assign(cache);
  cache = larger;
}

void DecodingLayer::project_source(const Tensor& encoded, std::span<const std::int32_t> rows) {
  store_cached_rows(source_key_value_.forward(encoded), 0, rows, source_cache_);
}

Tensor DecodingLayer::attend(const DecodingStep& step, const Tensor& read, std::int64_t destinations) {
  const Tensor projected = query_key_value_.forward(read);
  store_cached_rows(projected, dim_, step.rows, cache_);
  return output_.forward(cached_attention(step.edges, projected, cache_,
                                          {.heads = heads_,
                                           .scale = attention_->score_scale(),
                                           .relation_keys = attention_->relation_keys,
                                           .edge_weights = attention_->span_weights(),
                                           .destinations = destinations}));
}

Tensor DecodingLayer::attend_to_source(const DecodingStep& step, const Tensor& read) {
  return cross_output_.forward(cached_attention(
      step.cross, cross_query_.forward(read), source_cache_,
      {.heads = heads_, .scale = cross_attention_->score_scale(), .relation_keys = cross_attention_->relation_keys}));
}

Tensor DecodingLayer::add_change(const LayerNorm& norm, const Tensor& x, const Tensor& change) const {
  return pre_norm_ ? x + change : norm.forward(change, x);
}

Tensor DecodingLayer::update(const DecodingStep& step, const Tensor& h, bool tokens_only) {
  const std::int64_t rows = tokens_only ? step.tokens : h.size(0);
  Tensor z = add_change(*attention_norm_, h.rows(0, rows), attend(step, read_by(*attention_norm_, h), rows));
  if (cross_attention_ != nullptr) {
    const Tensor tokens = z.rows(0, step.tokens);
    const Tensor informed = add_change(*cross_norm_, tokens, attend_to_source(step, read_by(*cross_norm_, tokens)));
    z = rows == step.tokens ? informed : concatenate({informed, z.rows(step.tokens, rows)}, 0);
  }
  return in_row_blocks(z, false, [this](const Tensor& block) {
    return add_change(*feed_forward_norm_, block, outer_.forward(inner_.forward(read_by(*feed_forward_norm_, block))));
  });
}

}  // namespace bough::nn
