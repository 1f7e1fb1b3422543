#include "bough/nn/recurrent_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/rows.h"
#include "nn/modules/recurrent_cells.h"

namespace bough::nn {
namespace {

constexpr const char* decoding = "recurrent decoder";

AttentionGraph followed_graph(const RecurrentStack& model, AttentionGraph graph) {
  graph.validate();
  if (model.options().bidirectional) {
    throw ConfigError(decoding, "a bidirectional model reads a text from its end too; decode with one direction");
  }
  if (!graph.causal || graph.sequences.size() != 1) {
    throw ConfigError(decoding, "the graph must be causal and that of one sequence");
  }
  check_recurrent_graph(graph, model.options());
  return graph;
}

}  // namespace

RecurrentDecoder::RecurrentDecoder(const RecurrentStack& model, AttentionGraph graph)
    : model_(&model), graph_(followed_graph(model, std::move(graph))) {
  recurrent_levels(graph_.graph, model.layer(0).along_->rules(), Device::cpu());  // its errors alone are wanted
  for (std::int64_t token = 0; token < length(); ++token) {
    last_reader_.push_back(token + 1);
    for (const std::int32_t before : predecessors(token)) last_reader_[static_cast<std::size_t>(before)] = token;
  }
  caches_.resize(static_cast<std::size_t>(model.num_layers()));
}

std::span<const std::int32_t> RecurrentDecoder::predecessors(std::int64_t token) const {
  const CscView csc = graph_.graph.csc();
  const auto at = static_cast<std::size_t>(token);
  return std::span(csc.indices)
      .subspan(static_cast<std::size_t>(csc.offsets[at]),
               static_cast<std::size_t>(csc.offsets[at + 1] - csc.offsets[at]));
}

RecurrentLevel RecurrentDecoder::next_level() const {
  RecurrentLevel level{.nodes = size_, .positions = {}};
  const std::span<const std::int32_t> before = predecessors(position_);
  if (before.empty()) return level;
  const std::int64_t positions = std::max<std::int64_t>(1, model_->options().positions);
  level.positions.resize(static_cast<std::size_t>(positions));
  const CscView csc = graph_.graph.csc();
  const std::span<const std::int32_t> types = graph_.graph.edge_types();
  auto edge = static_cast<std::size_t>(csc.offsets[static_cast<std::size_t>(position_)]);
  for (const std::int32_t source : before) {
    const std::int32_t position =
        positions == 1 || types.empty() ? 0 : types[static_cast<std::size_t>(csc.edge_ids[edge])];
    level.positions[static_cast<std::size_t>(position)].sources.push_back({static_cast<std::size_t>(source), Tensor()});
    ++edge;
  }
  const Device device = model_->parameters().front().device();
  for (LevelEdges& edges : level.positions) {
    const auto count = static_cast<std::int64_t>(edges.sources.size());
    if (count > 1) edges.destinations = repeat(arange(size_, {.dtype = DType::int32, .device = device}), 0, count);
  }
  return level;
}

void RecurrentDecoder::forget_what_is_read_no_more() {
  const auto forget = [this](std::int64_t token) {
    const auto at = static_cast<std::size_t>(token);
    if (last_reader_[at] != position_) return;
    for (LayerCache& cache : caches_) {
      cache.states[at] = {};
      cache.passed[at] = {};
    }
  };
  for (const std::int32_t token : predecessors(position_)) forget(token);
  if (position_ > 0) forget(position_ - 1);
}

Tensor RecurrentDecoder::read(const Tensor& tokens) {
  if (position_ >= length()) {
    throw IndexError(decoding,
                     fmt::format("all {} tokens of the graph have been read; restart, or make a longer one", length()));
  }
  const std::int64_t in = model_->options().in;
  if (tokens.shape() != Shape{size_, in}) {
    throw ShapeError(decoding, fmt::format("inputs must be [{}, {}], a token for each hypothesis; they are {}", size_,
                                           in, to_string(tokens.shape())));
  }
  const NoGrad no_grad;
  const RecurrentLevel level = next_level();
  const std::span<const std::int32_t> before = predecessors(position_);
  Tensor h = tokens;
  for (std::int64_t index = 0; index < model_->num_layers(); ++index) {
    const RecurrentCell& cell = *model_->layer(index).along_;
    LayerCache& cache = caches_[static_cast<std::size_t>(index)];
    const RecurrentInput input = cell.project(h);
    Tensor projected = input.own;
    if (input.passed.defined()) {
      for (const std::int32_t source : before) projected = projected + cache.passed[static_cast<std::size_t>(source)];
    }
    const RecurrentState state = cell.step(projected, Predecessors(level, cache.states));
    cache.states.push_back(state);
    cache.passed.push_back(input.passed);
    h = state.h;
  }
  forget_what_is_read_no_more();
  ++position_;
  edges_followed_ = std::ssize(before) * size_;
  return h;
}

void RecurrentDecoder::reorder(std::span<const std::int32_t> parents) {
  for (const std::int32_t parent : parents) {
    if (0 <= parent && parent < size_) continue;
    throw IndexError(decoding, fmt::format("there is no hypothesis {} of {}", parent, size_));
  }
  const NoGrad no_grad;
  const Tensor index = Tensor::from_span(parents, {std::ssize(parents)}, model_->parameters().front().device());
  const auto pick = [&](Tensor& rows) {
    if (rows.defined()) rows = gather_rows(rows, index);
  };
  for (LayerCache& cache : caches_) {
    for (RecurrentState& state : cache.states) {
      pick(state.h);
      pick(state.c);
    }
    for (Tensor& passed : cache.passed) pick(passed);
  }
  size_ = std::ssize(parents);
}

void RecurrentDecoder::restart(std::int64_t hypotheses) {
  if (hypotheses < 0) throw ConfigError(decoding, fmt::format("there cannot be {} hypotheses", hypotheses));
  size_ = hypotheses;
  position_ = 0;
  for (LayerCache& cache : caches_) cache = {};
}

}  // namespace bough::nn
