#include "bough/nn/recurrent.h"

#include <fmt/format.h>

#include <array>

#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/rows.h"
#include "nn/modules/recurrent_cells.h"

namespace bough::nn {
namespace {

constexpr std::array<const char*, 4> cell_names{"lstm", "mlstm", "rhn", "qrnn"};

}  // namespace

std::string to_string(RecurrentCellKind kind) { return cell_names.at(static_cast<std::size_t>(kind)); }

RecurrentCellKind parse_recurrent_cell(const std::string& name) {
  for (std::size_t i = 0; i < cell_names.size(); ++i) {
    if (name == cell_names[i]) return static_cast<RecurrentCellKind>(i);
  }
  throw ConfigError("recurrent",
                    fmt::format("no cell is called \"{}\"; there are {}", name, fmt::join(cell_names, ", ")));
}

Tensor Predecessors::sources(Tensor RecurrentState::*part, const LevelEdges& edges) const {
  std::vector<Tensor> blocks;
  for (const LevelRows& from : edges.sources) {
    const Tensor& states = earlier_[from.level].*part;
    blocks.push_back(from.rows.defined() ? gather_rows(states, from.rows) : states);
  }
  return blocks.size() == 1 ? blocks.front() : concatenate(blocks, 0);
}

Tensor Predecessors::at_nodes(Tensor RecurrentState::*part, std::size_t position) const {
  const LevelEdges& edges = level_.positions[position];
  if (edges.sources.empty()) {
    const Tensor& like = earlier_.back().*part;
    return zeros({level_.nodes, like.size(1)}, like.dtype(), like.device());
  }
  const Tensor states = sources(part, edges);
  return edges.destinations.defined() ? scatter_add_rows(states, edges.destinations, level_.nodes) : states;
}

Tensor Predecessors::to_edges(const Tensor& of_nodes) const {
  return gather_rows(of_nodes, level_.positions.front().destinations);
}

Tensor Predecessors::sum_edges(const Tensor& of_edges) const {
  return scatter_add_rows(of_edges, level_.positions.front().destinations, level_.nodes);
}

Tensor RecurrentCell::run(const Graph& graph, const Tensor& x, std::int64_t out) const {
  const std::shared_ptr<const RecurrentLevels> plan = recurrent_levels(graph, rules(), x.device());
  const RecurrentInput input = project(x);
  const Tensor projected =
      input.passed.defined() ? input.own + gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, input.passed) : input.own;
  if (plan->levels.empty()) return slice(projected, 1, 0, out);
  const std::vector<Tensor> rows = split(gather_rows(projected, plan->order), 0, plan->sizes);
  std::vector<RecurrentState> states;
  std::vector<Tensor> results;
  for (std::size_t level = 0; level < rows.size(); ++level) {
    states.push_back(step(rows[level], Predecessors(plan->levels[level], states)));
    results.push_back(states.back().h);
  }
  return gather_rows(concatenate(results, 0), plan->places);
}

Recurrent::Recurrent(const RecurrentOptions& options) : out_(options.out), along_(make_recurrent_cell(options)) {
  add_module("along", *along_);
  if (options.bidirectional) {
    against_ = make_recurrent_cell(options);
    add_module("against", *against_);
  }
}

Recurrent::~Recurrent() = default;

Tensor Recurrent::forward(const Graph& graph, const Tensor& x) const {
  if (!graph.is_bipartite() && (x.rank() != 2 || x.size(0) != graph.num_nodes())) {
    throw ShapeError("recurrent", fmt::format("x is {}, which is not a row for each of {} nodes", to_string(x.shape()),
                                              graph.num_nodes()));
  }
  const Tensor h = along_->run(graph, x, out_);
  return against_ ? concatenate({h, against_->run(graph.reverse(), x, out_)}, 1) : h;
}

}  // namespace bough::nn
