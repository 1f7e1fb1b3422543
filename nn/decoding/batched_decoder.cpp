#include "bough/nn/batched_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "nn/decoding/decoding_layer.h"
#include "nn/decoding/decoding_steps.h"
#include "nn/decoding/row_tables.h"

namespace bough::nn {
namespace {

constexpr const char* batched_decoder = "batched decoder";

void require_rows(const char* what, const Tensor& rows, Device device) {
  if (rows.dtype() != DType::float32) {
    throw TypeError(batched_decoder, fmt::format("{} must be float32, not {}", what, name_of(rows.dtype())));
  }
  if (rows.device() != device) {
    throw DeviceError(batched_decoder, fmt::format("{} must be on {}, where the model is, not on {}", what,
                                                   to_string(device), to_string(rows.device())));
  }
}

}  // namespace

struct DecodingHypothesis {
  RowTable nodes;   ///< in self-attention caches
  RowTable source;  ///< in source caches
  std::optional<Graph> cross = {};
  std::int64_t position = 0;
};

/// Who holds which rows, and the step that is computed now; kept from step to step for its memory.
struct DecodingCaches {
  RowTables nodes, sources;
  std::vector<DecodingHypothesis> hypotheses;
  DecodingStep step;

  void end(DecodingHypothesis& hypothesis) {
    nodes.release(hypothesis.nodes);
    sources.release(hypothesis.source);
  }
  void plan(const DecodingSteps& steps, std::span<const std::int64_t> counts);
  void list_source_edges(const DecodingHypothesis& hypothesis, std::int64_t position);
};

void DecodingCaches::list_source_edges(const DecodingHypothesis& hypothesis, std::int64_t position) {
  CachedEdges& edges = step.cross.front();
  if (!hypothesis.cross) {
    for (std::int64_t i = 0; i < hypothesis.source.size; ++i) edges.add(sources.row(hypothesis.source, i), 0);
    return edges.end_destination();
  }
  const CscView csc = hypothesis.cross->csc();
  const std::span<const std::int32_t> types = hypothesis.cross->edge_types();
  const auto row = static_cast<std::size_t>(position);
  for (auto p = static_cast<std::size_t>(csc.offsets[row]); p < static_cast<std::size_t>(csc.offsets[row + 1]); ++p) {
    edges.add(sources.row(hypothesis.source, csc.indices[p]),
              types.empty() ? 0 : types[static_cast<std::size_t>(csc.edge_ids[p])]);
  }
  edges.end_destination();
}

void DecodingCaches::plan(const DecodingSteps& steps, std::span<const std::int64_t> counts) {
  step.rows.clear();
  for (CachedEdges& edges : step.edges) edges.clear();
  for (CachedEdges& edges : step.cross) edges.clear();
  // Calls f(hypothesis, place) for the tokens that are read, or for the other nodes that they complete.
  const auto for_each_new = [&](bool tokens, const auto& f) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      DecodingHypothesis& one = hypotheses[i];
      for (std::int64_t token = one.position; token < one.position + counts[i]; ++token) {
        const std::int64_t begin = steps.begin(token), end = steps.begin(token + 1);
        for (std::int64_t place = tokens ? begin : begin + 1; place < (tokens ? begin + 1 : end); ++place)
          f(one, place);
      }
    }
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t end = steps.begin(hypotheses[i].position + counts[i]);
    while (hypotheses[i].nodes.size < end) nodes.append(hypotheses[i].nodes);
  }
  for (const bool tokens : {true, false}) {
    for_each_new(tokens, [&](const DecodingHypothesis& one, std::int64_t place) {
      step.rows.push_back(nodes.row(one.nodes, place));
      steps.list_edges(place, nodes, one.nodes, step.edges);
    });
  }
  step.tokens = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (std::size_t i = 0; i < counts.size(); ++i) {
    DecodingHypothesis& one = hypotheses[i];
    for (const std::int64_t end = one.position + counts[i]; one.position < end; ++one.position) {
      if (!step.cross.empty()) list_source_edges(one, one.position);
    }
  }
}

BatchedDecoder::BatchedDecoder(const GraphTransformerLayerOptions& options, bool has_encoder, AttentionGraph graph)
    : dim_(options.dim),
      has_encoder_(has_encoder),
      steps_(std::make_unique<DecodingSteps>(options, std::move(graph))),
      caches_(std::make_unique<DecodingCaches>()) {
  caches_->step.edges.resize(steps_->num_groups());
  caches_->step.cross.resize(has_encoder ? 1 : 0);
}

BatchedDecoder::BatchedDecoder(const GraphTransformer& model, AttentionGraph graph)
    : BatchedDecoder(model.options().layer, false, std::move(graph)) {
  if (model.options().stages != 1) {
    throw ConfigError(batched_decoder, "a model of several stages cannot be decoded step by step");
  }
  device_ = model.parameters().front().device();
  start_ = model.start;
  finish_ = [&model](const Tensor& h) { return model.finish(h); };
  for (std::int64_t i = 0; i < model.num_layers(); ++i) layers_.emplace_back(model.layer(i), model.options().layer);
}

BatchedDecoder::BatchedDecoder(const GraphTransformerDecoder& model, AttentionGraph graph)
    : BatchedDecoder(model.options().layer, true, std::move(graph)) {
  device_ = model.parameters().front().device();
  num_cross_relations_ = model.options().num_cross_relations;
  finish_ = [&model](const Tensor& h) { return model.finish(h); };
  for (std::int64_t i = 0; i < model.num_layers(); ++i) layers_.emplace_back(model.layer(i), model.options().layer);
}

BatchedDecoder::~BatchedDecoder() = default;
BatchedDecoder::BatchedDecoder(BatchedDecoder&&) noexcept = default;
BatchedDecoder& BatchedDecoder::operator=(BatchedDecoder&&) noexcept = default;

std::int64_t BatchedDecoder::size() const { return std::ssize(caches_->hypotheses); }
std::int64_t BatchedDecoder::length() const { return steps_->length(); }
std::int64_t BatchedDecoder::cached_nodes() const { return caches_->nodes.rows_in_use(); }

std::int64_t BatchedDecoder::position(std::int64_t hypothesis) const {
  require_hypothesis(hypothesis);
  return caches_->hypotheses[static_cast<std::size_t>(hypothesis)].position;
}

void BatchedDecoder::require_hypothesis(std::int64_t hypothesis) const {
  if (0 <= hypothesis && hypothesis < size()) return;
  throw IndexError(batched_decoder, fmt::format("there is no hypothesis {} of {}", hypothesis, size()));
}

void BatchedDecoder::require_encoder(bool wanted) const {
  if (has_encoder_ == wanted) return;
  throw ConfigError(batched_decoder, wanted ? "the model reads no encoder's output; use add"
                                            : "the model reads an encoder's output; use add_sources");
}

void BatchedDecoder::add(std::int64_t count) {
  require_encoder(false);
  if (count < 0) throw ConfigError(batched_decoder, fmt::format("cannot add {} hypotheses", count));
  caches_->hypotheses.resize(caches_->hypotheses.size() + static_cast<std::size_t>(count));
}

void BatchedDecoder::add_sources(const Tensor& encoded, std::span<const std::int64_t> rows_of_each) {
  require_encoder(true);
  std::int64_t sum = 0;
  for (const std::int64_t rows : rows_of_each) {
    if (rows < 0) throw ShapeError(batched_decoder, fmt::format("a source cannot have {} rows", rows));
    sum += rows;
  }
  if (encoded.shape() != Shape{sum, dim_}) {
    throw ShapeError(batched_decoder, fmt::format("the encoder's output must be [{}, {}], a row for each of the {} "
                                                  "sources' rows; it is {}",
                                                  sum, dim_, rows_of_each.size(), to_string(encoded.shape())));
  }
  require_rows("the encoder's output", encoded, device_);
  const NoGrad no_grad;
  std::vector<std::int32_t> all;
  for (const std::int64_t rows : rows_of_each) {
    DecodingHypothesis& added = caches_->hypotheses.emplace_back();
    for (std::int64_t i = 0; i < rows; ++i) all.push_back(caches_->sources.append(added.source));
  }
  for (DecodingLayer& layer : layers_) {
    layer.reserve_sources(std::max<std::int64_t>(1, caches_->sources.end()));
    layer.project_source(encoded, all);
  }
}

void BatchedDecoder::set_source(std::int64_t hypothesis, const Tensor& encoded) {
  replace_source(hypothesis, encoded, nullptr);
}

void BatchedDecoder::set_source(std::int64_t hypothesis, const Tensor& encoded, const Graph& cross) {
  replace_source(hypothesis, encoded, &cross);
}

void BatchedDecoder::replace_source(std::int64_t hypothesis, const Tensor& encoded, const Graph* cross) {
  require_encoder(true);
  require_hypothesis(hypothesis);
  const std::int64_t rows = encoded.rank() == 2 ? encoded.size(0) : 0;
  if (cross != nullptr) {
    if (!cross->is_bipartite() || cross->num_src() != rows || cross->num_dst() > length()) {
      throw GraphError(batched_decoder,
                       fmt::format("the cross graph must be bipartite, from the {} rows of the encoder's output to at "
                                   "most {} positions; it goes from {} to {} nodes",
                                   rows, length(), cross->num_src(), cross->num_dst()));
    }
    if (cross->num_edge_types() > std::max<std::int64_t>(1, num_cross_relations_)) {
      throw GraphError(batched_decoder, fmt::format("the cross graph has {} relations, the model keys for {}",
                                                    cross->num_edge_types(), num_cross_relations_));
    }
  }
  // The new source arrives as that of one more hypothesis, so that a shape that does not fit changes nothing.
  add_sources(encoded, std::array{rows});
  DecodingHypothesis& one = caches_->hypotheses[static_cast<std::size_t>(hypothesis)];
  std::swap(one.source, caches_->hypotheses.back().source);
  one.cross = cross == nullptr ? std::nullopt : std::optional(*cross);
  caches_->end(caches_->hypotheses.back());
  caches_->hypotheses.pop_back();
}

void BatchedDecoder::reorder(std::span<const std::int32_t> parents) {
  for (const std::int32_t parent : parents) require_hypothesis(parent);
  std::vector<DecodingHypothesis>& old = caches_->hypotheses;
  std::vector<std::int32_t> last_copy(old.size(), -1);
  for (std::size_t i = 0; i < parents.size(); ++i) {
    last_copy[static_cast<std::size_t>(parents[i])] = static_cast<std::int32_t>(i);
  }
  std::vector<DecodingHypothesis> next;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const auto parent = static_cast<std::size_t>(parents[i]);
    if (last_copy[parent] == static_cast<std::int32_t>(i)) {
      next.push_back(std::move(old[parent]));
    } else {
      const DecodingHypothesis& from = old[parent];
      next.push_back({caches_->nodes.fork(from.nodes), caches_->sources.fork(from.source), from.cross, from.position});
    }
  }
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (last_copy[i] < 0) caches_->end(old[i]);
  }
  old = std::move(next);
}

void BatchedDecoder::check_read(const Tensor& tokens, std::span<const std::int64_t> counts) const {
  if (std::ssize(counts) != size()) {
    throw ShapeError(batched_decoder, fmt::format("there are {} counts for {} hypotheses", counts.size(), size()));
  }
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const DecodingHypothesis& one = caches_->hypotheses[i];
    if (counts[i] < 0 || counts[i] > length() - one.position) {
      throw IndexError(batched_decoder,
                       fmt::format("hypothesis {} has read {} of all {} tokens of the graph, it cannot read {} more; "
                                   "end it, or make a longer graph",
                                   i, one.position, length(), counts[i]));
    }
    if (one.cross && one.position + counts[i] > one.cross->num_dst()) {
      throw IndexError(batched_decoder,
                       fmt::format("the cross graph of hypothesis {} ends at position {}", i, one.cross->num_dst()));
    }
    sum += counts[i];
  }
  if (tokens.shape() != Shape{sum, dim_}) {
    throw ShapeError(batched_decoder, fmt::format("inputs must be [{}, {}], a row for each token that is read; they "
                                                  "are {}",
                                                  sum, dim_, to_string(tokens.shape())));
  }
  require_rows("inputs", tokens, device_);
}

Tensor BatchedDecoder::read(const Tensor& tokens) {
  return read(tokens, std::vector<std::int64_t>(caches_->hypotheses.size(), 1));
}

Tensor BatchedDecoder::read(const Tensor& tokens, std::span<const std::int64_t> counts) {
  check_read(tokens, counts);
  const NoGrad no_grad;
  const DecodingStep& step = caches_->step;
  caches_->plan(*steps_, counts);
  edges_followed_ = 0;
  for (const CachedEdges& edges : step.edges) edges_followed_ += edges.num_edges();
  if (step.tokens == 0) return tokens.detach();
  Tensor h = tokens.detach();
  const std::int64_t others = std::ssize(step.rows) - step.tokens;
  if (others > 0) {
    const Tensor nothing = zeros({others, dim_}, DType::float32, device_);
    h = concatenate({h, start_.defined() ? nothing + start_ : nothing}, 0);
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].reserve(caches_->nodes.end());
    h = layers_[i].update(step, h, i + 1 == layers_.size());
  }
  return finish_(h);
}

}  // namespace bough::nn
