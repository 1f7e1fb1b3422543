#include "kernels/ops/graph_attention_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bough/detail/mp/adjacency.h"
#include "src/core/captured_graph.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

/// Heads share the counter of dropout with the numbers of parallel edges.
constexpr std::int64_t most_heads = 1 << 16;

void require(const char* where, bool condition, const char* what, const Tensor& tensor, const std::string& rule) {
  if (!condition) throw ShapeError(where, fmt::format("{} must be {}, not {}", what, rule, to_string(tensor.shape())));
}

void require_rows(const char* where, const char* what, const Tensor& tensor, std::int64_t rows, const char* side) {
  throw_if_missing(tensor);
  if (!tensor.defined()) throw ShapeError(where, fmt::format("{} is undefined; it was never given a value", what));
  if (tensor.rank() != 3 || tensor.size(0) != rows) {
    throw ShapeError(where, fmt::format("{} must be [{}, heads, width] with one row for each of the graph's {}, not {}",
                                        what, rows, side, to_string(tensor.shape())));
  }
}

std::int64_t check_graphs(const char* where, std::span<const Graph> graphs) {
  if (graphs.empty()) throw ConfigError(where, "needs at least one graph");
  for (const Graph& graph : graphs) {
    if (graph.num_src() != graphs[0].num_src() || graph.num_dst() != graphs[0].num_dst()) {
      throw GraphError(where, fmt::format("the graphs of the head groups must have the same nodes, but one has {} "
                                          "sources and {} destinations, another {} and {}",
                                          graphs[0].num_src(), graphs[0].num_dst(), graph.num_src(), graph.num_dst()));
    }
  }
  std::int64_t edges = 0;
  for (const Graph& graph : graphs) edges += graph.num_edges();
  return edges;
}

void check_relation_table(const char* where, const char* what, const Tensor& table, std::span<const Graph> graphs,
                          bool right_shape, const std::string& shape) {
  if (!table.defined()) return;
  require(where, right_shape, what, table, shape);
  for (const Graph& graph : graphs) {
    mp::require_edge_types(where, what, graph);
    if (table.size(0) < graph.num_edge_types()) {
      throw ShapeError(where, fmt::format("{} has {} rows, but the graph has {} edge types; a model has them by "
                                          "num_relations, or for_graph(generator, max_length, ...)",
                                          what, table.size(0), graph.num_edge_types()));
    }
  }
}

}  // namespace

std::vector<Tensor> AttentionTensors::defined() const {
  std::vector<Tensor> result;
  AttentionTensors copy = *this;
  for (const Tensor* tensor : copy.all()) {
    if (tensor->defined()) result.push_back(*tensor);
  }
  return result;
}

std::array<bool, AttentionTensors::count> AttentionTensors::present() const {
  AttentionTensors copy = *this;
  std::array<bool, count> result{};
  std::ranges::transform(copy.all(), result.begin(), [](const Tensor* tensor) { return tensor->defined(); });
  return result;
}

AttentionTensors AttentionTensors::from(std::span<const Tensor> defined, const std::array<bool, count>& present) {
  AttentionTensors result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (present[i]) *result.all()[i] = defined[next++];
  }
  return result;
}

AttentionCall check_attention(const char* where, std::span<const Graph> graphs, const AttentionTensors& t,
                              const GraphAttentionOptions& options) {
  const std::int64_t num_edges = check_graphs(where, graphs);
  const auto num_graphs = static_cast<std::int64_t>(graphs.size());
  require_rows(where, "q", t.q, graphs[0].num_dst(), "destinations");
  require_rows(where, "k", t.k, graphs[0].num_src(), "sources");
  require_rows(where, "v", t.v, graphs[0].num_src(), "sources");
  const std::int64_t heads = t.q.size(1), width = t.q.size(2), value_width = t.v.size(2);
  require(where, t.k.size(1) == heads && t.k.size(2) == width, "k", t.k,
          fmt::format("[{}, {}, {}] to match q {}", graphs[0].num_src(), heads, width, to_string(t.q.shape())));
  require(where, t.v.size(1) == heads, "v", t.v, fmt::format("[{}, {}, width]", graphs[0].num_src(), heads));
  if (heads % num_graphs != 0) {
    throw ShapeError(where, fmt::format("{} heads cannot be divided among {} graphs", heads, num_graphs));
  }
  if (heads > most_heads) throw ShapeError(where, fmt::format("takes at most {} heads, not {}", most_heads, heads));

  const auto vectors = [&](const Tensor& table, std::int64_t size) {
    return table.defined() && ((table.rank() == 2 && table.size(1) == size) ||
                               (table.rank() == 3 && table.size(1) == heads && table.size(2) == size));
  };
  check_relation_table(where, "relation_keys", t.relation_keys, graphs, vectors(t.relation_keys, width),
                       fmt::format("[relations, {}] or [relations, {}, {}]", width, heads, width));
  check_relation_table(where, "relation_values", t.relation_values, graphs, vectors(t.relation_values, value_width),
                       fmt::format("[relations, {}] or [relations, {}, {}]", value_width, heads, value_width));
  check_relation_table(where, "relation_bias", t.relation_bias, graphs,
                       t.relation_bias.defined() && t.relation_bias.rank() == 2 && t.relation_bias.size(1) == heads,
                       fmt::format("[relations, {}]", heads));
  const auto check_edge_rows = [&](const char* what, const Tensor& tensor) {
    if (!tensor.defined()) return;
    const std::int64_t group = heads / num_graphs;
    require(where,
            tensor.rank() >= 1 && tensor.size(0) == num_edges &&
                (tensor.rank() == 1 || (tensor.rank() == 2 && tensor.size(1) == group)),
            what, tensor, fmt::format("[{}] or [{}, {}], in edge order", num_edges, num_edges, group));
  };
  check_edge_rows("edge_bias", t.edge_bias);
  check_edge_rows("edge_weights", t.edge_weights);
  for (const Tensor& tensor : t.defined()) {
    if (tensor.dtype() != t.q.dtype()) {
      throw TypeError(
          where, fmt::format("all tensors must be {} as q is, not {}", name_of(t.q.dtype()), name_of(tensor.dtype())));
    }
  }
  require_same_device(
      where, {t.q, t.k, t.v, t.relation_keys, t.relation_values, t.relation_bias, t.edge_bias, t.edge_weights});
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw ConfigError(where, fmt::format("dropout must be in [0, 1), not {}", options.dropout));
  }
  if (options.scale && !std::isfinite(*options.scale)) {
    throw ConfigError(where, fmt::format("scale must be a finite number, not {}", *options.scale));
  }

  AttentionCall call{
      .num_src = graphs[0].num_src(),
      .num_dst = graphs[0].num_dst(),
      .heads = heads,
      .width = width,
      .value_width = value_width,
      .scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, width)))),
      .kernel = options.kernel,
      .deterministic = options.deterministic,
      .tensor_cores = options.tensor_cores};
  if (options.dropout > 0) {
    if (options.kernel == AttentionKernel::unfused) {
      CapturedGraph::refuse(t.q.device(), "dropout of attention weights by AttentionKernel::unfused");
    }
    call.dropout.stream_shift = CapturedGraph::random_shift(t.q.device());
    call.dropout.threshold = static_cast<std::uint32_t>(std::max(1.0, std::floor(options.dropout * 0x1p32)));
    call.dropout.scale = 1 / (1 - options.dropout);
  }
  std::int64_t first_edge = 0;
  for (const Graph& graph : graphs) {
    call.groups.push_back(
        {graph, static_cast<std::int64_t>(call.groups.size()) * (heads / num_graphs), heads / num_graphs, first_edge});
    first_edge += graph.num_edges();
  }
  return call;
}

}  // namespace bough
