#include "graph/attention/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"

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

void InEdges::fail(std::int64_t begin, std::int64_t end, std::int64_t relation, std::int64_t last_relation) const {
  if (begin < 0 || end > num_sources_) {
    throw GraphError("attention graph", fmt::format("node {} has in-edges from nodes {} to {}, but sources are 0 to {}",
                                                    node_, begin, end - 1, num_sources_ - 1));
  }
  if (std::min(relation, last_relation) < 0 || std::max(relation, last_relation) >= num_relations_) {
    throw GraphError(
        "attention graph",
        fmt::format("an edge from node {} to node {} has relation {}, but there are {} relations", begin, node_,
                    relation < 0 || relation >= num_relations_ ? relation : last_relation, num_relations_));
  }
  throw GraphError("attention graph", fmt::format("a rule gave node {} more in-edges on its second call than on its "
                                                  "first; rules must depend on the node alone",
                                                  node_));
}

void RowWriter::refuse_changed_row(std::int32_t node, std::int64_t counted, std::int64_t written) {
  throw GraphError("attention graph",
                   fmt::format("a rule gave node {} first {} in-edges, then {}; rules must depend on "
                               "the node alone",
                               node, counted, written));
}

void RowWriter::sort_row(EdgeRow row) {
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  edges.reserve(row.sources.size());
  for (std::size_t i = 0; i < row.sources.size(); ++i) edges.emplace_back(row.sources[i], row.relations[i]);
  std::ranges::sort(edges);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (i > 0 && edges[i].first == edges[i - 1].first) {
      throw GraphError("attention graph", fmt::format("the edge from node {} to node {} is given twice, with relations "
                                                      "{} and {}",
                                                      edges[i].first, row.node, edges[i - 1].second, edges[i].second));
    }
    row.sources[i] = edges[i].first;
    row.relations[i] = edges[i].second;
  }
}

namespace {

constexpr std::int64_t max_edges = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t count_chunk = 4096;        // rows; a row costs some 10 to 200 ns to count
constexpr std::int64_t write_chunk = 128 * 1024;  // edges; about as many as fit into the second-level cache

/// offsets[node] .. offsets[node+1] are the edges of a node.
std::vector<std::int64_t> count_edges(std::int64_t num_nodes, const InEdgeRule& rule) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(num_nodes) + 1);
  // A specification that asks for far too much is noticed while counting, not after it.
  std::atomic<std::int64_t> total = 0;
  parallel_chunks(num_nodes, count_chunk, [&](std::int64_t begin, std::int64_t end) {
    if (total.load(std::memory_order_relaxed) > max_edges) return;
    std::int64_t sum = 0;
    for (std::int64_t node = begin; node < end && sum <= max_edges; ++node) {
      const auto id = static_cast<std::int32_t>(node);
      const std::int64_t count = RowWriter::count(id, [&](InEdges& in) { rule(id, in); });
      offsets[static_cast<std::size_t>(node) + 1] = count;
      sum += count;
    }
    total += sum;
  });
  if (total > max_edges) {
    throw GraphError("attention graph",
                     fmt::format("the graph would have more than {} edges; shorten the sequence or let "
                                 "tokens attend to less",
                                 max_edges));
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  return offsets;
}

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

Graph assemble_graph(const AttentionGraph& nodes, bool bipartite, std::int64_t num_relations, const InEdgeRule& rule) {
  const auto num_nodes = static_cast<std::int64_t>(nodes.levels.size());
  const auto num_sources = bipartite ? static_cast<std::int64_t>(nodes.source_kinds.size()) : num_nodes;
  const std::vector<std::int64_t> offsets = count_edges(num_nodes, rule);
  const std::int64_t num_edges = offsets.back();

  IdBuffer src(num_edges), dst(num_edges), types(num_edges);
  const RowWriter writer(num_sources, num_relations);
  const CausalOrder order(nodes, bipartite);
  parallel_chunks(
      num_nodes, rows_per_chunk(num_edges / num_nodes, write_chunk), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t node = begin; node < end; ++node) {
          const auto id = static_cast<std::int32_t>(node);
          const auto first = static_cast<std::size_t>(offsets[static_cast<std::size_t>(node)]);
          const auto last = static_cast<std::size_t>(offsets[static_cast<std::size_t>(node) + 1]);
          const EdgeRow row{id, src.span().subspan(first, last - first), types.span().subspan(first, last - first)};
          writer.write(row, [&](InEdges& in) { rule(id, in); });
          if (nodes.causal) order.require(id, row.sources);
          std::fill(dst.data() + first, dst.data() + last, id);
        }
      });
  if (bipartite) {
    return Graph::bipartite(std::move(src), std::move(dst),
                            {.num_src = num_sources,
                             .num_dst = num_nodes,
                             .edge_types = std::move(types),
                             .num_edge_types = num_relations});
  }
  return Graph::from_edges(std::move(src), std::move(dst),
                           {.num_nodes = num_nodes, .edge_types = std::move(types), .num_edge_types = num_relations});
}

std::int64_t count_in_edges(std::int64_t num_nodes, const InEdgeRule& rule) {
  std::atomic<std::int64_t> total = 0;
  parallel_chunks(num_nodes, count_chunk, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t sum = 0;
    for (std::int64_t node = begin; node < end; ++node) {
      const auto id = static_cast<std::int32_t>(node);
      sum += RowWriter::count(id, [&](InEdges& in) { rule(id, in); });
    }
    total += sum;
  });
  return total;
}

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

CausalOrder::CausalOrder(const AttentionGraph& nodes, bool bipartite)
    : covers_(&nodes.covers),
      kinds_(&nodes.kinds),
      sources_(bipartite ? &nodes.source_covers : &nodes.covers),
      source_kinds_(bipartite ? &nodes.source_kinds : &nodes.kinds) {}

void CausalOrder::require(std::int32_t node, std::span<const std::int32_t> sources) const {
  const std::int32_t known = last_known(*covers_, *kinds_, node);
  std::int32_t latest = -1;
  for (const std::int32_t source : sources) latest = std::max(latest, last_known(*sources_, *source_kinds_, source));
  if (latest <= known) return;
  const auto bad = std::ranges::find_if(sources, [&](std::int32_t source) { return !allows(source, node); });
  throw GraphError(
      "attention graph",
      fmt::format("in a causal graph node {}, which knows tokens up to {}, cannot attend to node {}, which "
                  "knows tokens up to {}",
                  node, known, *bad, last_known(*sources_, *source_kinds_, *bad)));
}

}  // namespace bough
