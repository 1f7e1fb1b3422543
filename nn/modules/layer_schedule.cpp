#include "bough/nn/layer_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "bough/core/errors.h"

namespace bough::nn {
namespace {

using Ids = std::vector<std::int32_t>;

/// As a row list: undefined if it is "all, in order".
Tensor row_list(const Ids& rows, std::int64_t of) {
  bool all = static_cast<std::int64_t>(rows.size()) == of;
  for (std::size_t i = 0; all && i < rows.size(); ++i) all = rows[i] == static_cast<std::int32_t>(i);
  return all ? Tensor()
             : Tensor::from_span(std::span<const std::int32_t>(rows), {static_cast<std::int64_t>(rows.size())});
}

Ids positions_of(std::span<const std::int32_t> nodes, std::int64_t num_nodes) {
  Ids positions(static_cast<std::size_t>(num_nodes), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    positions[static_cast<std::size_t>(nodes[i])] = static_cast<std::int32_t>(i);
  }
  return positions;
}

Ids pick(const Ids& values, std::span<const std::int32_t> at) {
  Ids result;
  result.reserve(at.size());
  for (const std::int32_t i : at) result.push_back(values[static_cast<std::size_t>(i)]);
  return result;
}

/// Distance between the ends of each edge, given the position of each source and destination.
Tensor edge_distances(const Graph& graph, const std::vector<TokenRange>& sources,
                      const std::vector<TokenRange>& destinations) {
  const CooView coo = graph.coo();
  Tensor distances = Tensor::empty({graph.num_edges()}, DType::int32);
  std::int32_t* out = distances.data<std::int32_t>();
  for (std::size_t e = 0; e < coo.src.size(); ++e) {
    out[e] = std::abs(sources[static_cast<std::size_t>(coo.src[e])].begin -
                      destinations[static_cast<std::size_t>(coo.dst[e])].begin);
  }
  return distances;
}

std::vector<TokenRange> pick_ranges(const std::vector<TokenRange>& ranges, const Ids& nodes) {
  std::vector<TokenRange> result;
  for (const std::int32_t node : nodes) result.push_back(ranges[static_cast<std::size_t>(node)]);
  return result;
}

bool is_updated(NodeKind kind) {
  return kind != NodeKind::input && kind != NodeKind::memory && kind != NodeKind::source;
}

/// Walks from the read-out back to the inputs: what must be live before a step follows from what is needed after it.
class BackwardWalk {
 public:
  explicit BackwardWalk(const AttentionGraph& graph) : graph_(graph), num_nodes_(graph.graph.num_nodes()) {
    for (std::size_t stage = 0; stage < num_stages(); ++stage) updated_.push_back(updated_in(stage));
    known_.resize(num_stages());
  }

  std::size_t num_stages() const { return std::max<std::size_t>(1, graph_.stages.size()); }

  /// The step of a stage after which the nodes `needed` are live; replaces them by those live before.
  LayerStep step_back(std::size_t stage, Ids& needed) {
    Known& known = known_[stage];
    // What is needed only grows on the way back, so sets of equal size are equal.
    if (known.needed != static_cast<std::int64_t>(needed.size())) {
      known.needed = static_cast<std::int64_t>(needed.size());
      known.step = make_step(stage, needed, known.live);
    }
    needed = known.live;
    return known.step;
  }

 private:
  struct Known {
    std::int64_t needed = -1;
    LayerStep step = {};
    Ids live = {};
  };

  std::vector<Graph> graphs_of(std::size_t stage) const {
    if (!graph_.stages.empty()) return {graph_.stages[stage]};
    return graph_.head_groups.empty() ? std::vector<Graph>{graph_.graph} : graph_.head_groups;
  }

  std::vector<bool> updated_in(std::size_t stage) const {
    std::vector<bool> updated;
    for (const NodeKind kind : graph_.kinds) updated.push_back(is_updated(kind));
    if (graph_.stages.empty()) return updated;
    const CscView csc = graph_.stages[stage].csc(EdgeIds::implied);
    for (std::size_t node = 0; node < updated.size(); ++node) {
      if (csc.degree(static_cast<std::int64_t>(node)) == 0) updated[node] = false;
    }
    return updated;
  }

  LayerStep make_step(std::size_t stage, const Ids& needed, Ids& live) const {
    const std::vector<Graph> graphs = graphs_of(stage);
    Ids destinations;
    std::ranges::copy_if(needed, std::back_inserter(destinations),
                         [&](std::int32_t node) { return updated_[stage][static_cast<std::size_t>(node)]; });
    // Head groups together have the edges of the whole graph.
    const Graph& read = graph_.stages.empty() ? graph_.graph : graph_.stages[stage];
    const IdArray nodes = read.with_sources(needed, destinations);
    live.assign(nodes.begin(), nodes.end());

    LayerStep step;
    const bool whole = static_cast<std::int64_t>(destinations.size()) == num_nodes_;
    for (const Graph& graph : graphs) {
      step.graphs.push_back(whole ? graph : graph.block(live, destinations).graph);
    }
    const Ids live_at = positions_of(live, num_nodes_);
    const auto num_live = static_cast<std::int64_t>(live.size());
    step.updated_rows = row_list(pick(live_at, destinations), num_live);
    if (destinations.size() != needed.size()) {
      const Ids updated_at = positions_of(destinations, num_nodes_);
      Ids next;
      for (const std::int32_t node : needed) {
        const std::int32_t updated = updated_at[static_cast<std::size_t>(node)];
        const auto unchanged = static_cast<std::int32_t>(destinations.size()) + live_at[static_cast<std::size_t>(node)];
        next.push_back(updated >= 0 ? updated : unchanged);
      }
      step.next_rows = row_list(next, -1);
    }
    if (graph_.soft_span) {
      step.distances = edge_distances(step.graphs.front(), pick_ranges(graph_.covers, live),
                                      pick_ranges(graph_.covers, destinations));
    }
    step.source_nodes = nodes;
    step.updated_nodes = std::move(destinations);
    return step;
  }

  const AttentionGraph& graph_;
  std::int64_t num_nodes_;
  std::vector<std::vector<bool>> updated_;
  std::vector<Known> known_;
};

/// The row from which each of the nodes starts: its token's, or the one that the others share.
Ids start_rows(const AttentionGraph& graph, const Ids& nodes) {
  const auto shared = static_cast<std::int32_t>(graph.num_tokens());
  Ids rows(graph.kinds.size(), shared);
  for (std::size_t i = 0; i < graph.tokens.size(); ++i) {
    rows[static_cast<std::size_t>(graph.tokens[i])] = static_cast<std::int32_t>(i);
  }
  for (std::size_t node = 0; node < graph.kinds.size(); ++node) {
    if (graph.kinds[node] == NodeKind::input) rows[node] = graph.covers[node].begin;
  }
  return pick(rows, nodes);
}

Ids to_ids(const Tensor& rows, std::size_t all) {
  if (rows.defined()) return rows.to_vector<std::int32_t>();
  Ids ids(all);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

/// The first step reads the rows that nodes start from instead of one row for each node.
void start_from(const Ids& start, std::int64_t num_starts, LayerStep& step) {
  const Ids updated = pick(start, to_ids(step.updated_rows, start.size()));
  if (step.next_rows.defined()) {
    Ids next = step.next_rows.to_vector<std::int32_t>();
    const auto num_updated = static_cast<std::int32_t>(updated.size());
    for (std::int32_t& row : next) {
      if (row >= num_updated) row = num_updated + start[static_cast<std::size_t>(row - num_updated)];
    }
    step.next_rows = row_list(next, -1);
  }
  step.source_rows = row_list(start, num_starts);
  step.updated_rows = row_list(updated, num_starts);
}

void add_homogeneous_steps(const AttentionGraph& graph, const LayerScheduleOptions& options, const Ids& readout,
                           LayerSchedule& schedule) {
  BackwardWalk walk(graph);
  Ids needed = readout;
  std::ranges::sort(needed);
  needed.erase(std::ranges::unique(needed).begin(), needed.end());
  schedule.layers.resize(static_cast<std::size_t>(options.layers));
  schedule.readout_rows.resize(schedule.layers.size());
  for (std::size_t layer = schedule.layers.size(); layer-- > 0;) {
    const Ids at = pick(positions_of(needed, graph.graph.num_nodes()), readout);
    schedule.readout_rows[layer] = row_list(at, static_cast<std::int64_t>(needed.size()));
    schedule.layers[layer].resize(walk.num_stages());
    for (std::size_t stage = walk.num_stages(); stage-- > 0;) {
      schedule.layers[layer][stage] = walk.step_back(stage, needed);
    }
  }
  const Ids start = start_rows(graph, needed);
  schedule.has_other_nodes = std::ranges::find(start, static_cast<std::int32_t>(graph.num_tokens())) != start.end();
  start_from(start, graph.num_tokens() + (schedule.has_other_nodes ? 1 : 0), schedule.layers.front().front());
}

/// Where the sources of a bipartite graph stand among outside rows followed by one row a token.
Ids bipartite_source_rows(const AttentionGraph& graph, std::int64_t num_outside) {
  Ids rows;
  std::int32_t outside = 0;
  auto token = static_cast<std::int32_t>(num_outside);
  for (const NodeKind kind : graph.source_kinds) rows.push_back(kind == NodeKind::token ? token++ : outside++);
  if (token != num_outside && token != num_outside + graph.num_tokens()) {
    throw GraphError("make_layer_schedule",
                     fmt::format("{} of the {} tokens are sources; it must be all of them or none", token - num_outside,
                                 graph.num_tokens()));
  }
  return rows;
}

Tensor rows_to_remember(const AttentionGraph& graph, const LayerScheduleOptions& options, std::int64_t num_outside) {
  const Ids source_rows = bipartite_source_rows(graph, num_outside);
  Ids remembered;
  for (const Sequence& sequence : graph.sequences) {
    Ids past;
    std::int64_t read = 0;
    for (std::int64_t source = sequence.source_begin; source < sequence.source_end; ++source) {
      if (graph.source_kinds[static_cast<std::size_t>(source)] != NodeKind::memory) continue;
      past.push_back(source_rows[static_cast<std::size_t>(source)]);
      ++read;
    }
    for (std::int64_t token = sequence.token_begin; token < sequence.token_end; ++token) {
      past.push_back(static_cast<std::int32_t>(num_outside + token));
    }
    const auto keep = static_cast<std::size_t>(options.memory.value_or(read));
    remembered.insert(remembered.end(), past.end() - static_cast<std::ptrdiff_t>(std::min(keep, past.size())),
                      past.end());
  }
  return row_list(remembered, -1);
}

void add_bipartite_steps(const AttentionGraph& graph, const LayerScheduleOptions& options, const Ids& readout,
                         LayerSchedule& schedule) {
  const std::int64_t num_tokens = graph.num_tokens();
  bool only_tokens = graph.graph.num_dst() == num_tokens && graph.stages.empty();
  for (std::size_t i = 0; only_tokens && i < graph.tokens.size(); ++i) {
    only_tokens = graph.tokens[i] == static_cast<std::int32_t>(i);
  }
  if (!only_tokens) {
    throw GraphError("make_layer_schedule",
                     fmt::format("a bipartite graph must update just its {} tokens, in order and in one "
                                 "stage; this one updates {} nodes in {} stages",
                                 num_tokens, graph.graph.num_dst(), std::max<std::size_t>(1, graph.stages.size())));
  }
  schedule.num_outside =
      std::ranges::count_if(graph.source_kinds, [](NodeKind kind) { return kind != NodeKind::token; });
  schedule.remembered_rows = rows_to_remember(graph, options, schedule.num_outside);

  LayerStep step;
  step.graphs = graph.head_groups.empty() ? std::vector<Graph>{graph.graph} : graph.head_groups;
  const std::int64_t num_rows = schedule.num_outside + num_tokens;
  step.source_rows = row_list(bipartite_source_rows(graph, schedule.num_outside), num_rows);
  Ids updated(static_cast<std::size_t>(num_tokens));
  std::iota(updated.begin(), updated.end(), static_cast<std::int32_t>(schedule.num_outside));
  step.updated_rows = row_list(updated, num_rows);
  if (graph.soft_span) step.distances = edge_distances(graph.graph, graph.source_covers, graph.covers);
  schedule.layers.assign(static_cast<std::size_t>(options.layers), {step});
  schedule.readout_rows.assign(schedule.layers.size(), row_list(readout, num_tokens));
}

}  // namespace

LayerSchedule LayerSchedule::to(Device device) const {
  LayerSchedule moved = *this;
  const auto move = [device](Tensor& rows) {
    if (rows.defined()) rows = rows.to(device);
  };
  for (auto& stages : moved.layers) {
    for (LayerStep& step : stages) {
      for (Tensor* rows : {&step.source_rows, &step.updated_rows, &step.next_rows, &step.distances}) move(*rows);
    }
  }
  move(moved.remembered_rows);
  for (Tensor& rows : moved.readout_rows) move(rows);
  return moved;
}

LayerSchedule make_layer_schedule(const AttentionGraph& graph, const LayerScheduleOptions& options) {
  constexpr const char* where = "make_layer_schedule";
  if (options.layers < 1 || options.layers > 10000) {
    throw ConfigError(where, fmt::format("layers must be from 1 to 10000, not {}", options.layers));
  }
  if (options.memory && *options.memory < 0) {
    throw ConfigError(where, fmt::format("memory must not be negative, it is {}", *options.memory));
  }
  graph.validate_nodes();  // its arrays index one another from here on
  if (graph.soft_span && (!graph.head_groups.empty() || !graph.stages.empty())) {
    throw ConfigError(where, "a learned reach is not for graphs with head groups or stages");
  }
  const auto chosen = options.readout.empty() ? std::span<const std::int32_t>(graph.tokens) : options.readout.span();
  const Ids readout(chosen.begin(), chosen.end());
  for (const std::int32_t node : readout) {
    if (node >= 0 && node < graph.graph.num_dst()) continue;
    throw GraphError(where, fmt::format("read-out node {} is not among the {} nodes", node, graph.graph.num_dst()));
  }
  LayerSchedule schedule;
  schedule.num_tokens = graph.num_tokens();
  schedule.soft_span = graph.soft_span;
  graph.graph.is_bipartite() ? add_bipartite_steps(graph, options, readout, schedule)
                             : add_homogeneous_steps(graph, options, readout, schedule);
  return schedule;
}

}  // namespace bough::nn
